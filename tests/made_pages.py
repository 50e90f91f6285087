"""Pages in Portuguese made from phrases, the same for the same seed: no two sentences of a page share a phrase."""

from __future__ import annotations

import random

_WHO = """\
o governo do estado|a prefeitura da capital|a associação de moradores|o conselho de saúde
uma equipe de pesquisadores|a direção da escola|o sindicato dos professores|a comissão de meio ambiente
o museu da cidade|a empresa de transportes|um grupo de agricultores|a biblioteca municipal
o centro de estudos marinhos|a universidade federal|o hospital regional|a cooperativa de pescadores
o tribunal de contas|a companhia de saneamento|o instituto de geografia|a orquestra sinfônica
um comitê de voluntários|a secretaria de educação|o laboratório de química|a câmara dos vereadores
o clube de leitura|a rede de supermercados|o observatório do clima|a fundação de cultura|o porto de Santos
a polícia rodoviária|uma turma de estudantes|a federação de futebol|o jardim botânico|a fábrica de tecidos
o arquivo público|a feira de orgânicos|o aeroporto internacional|a escola de samba|o corpo de bombeiros
a junta de comerciantes"""
_DOES = """\
anunciou em março que vai ampliar|decidiu por maioria manter|apresentou ontem um plano para reformar
começou a distribuir|quer proteger durante o verão|informou que pretende vender|estuda há anos como recuperar
abriu inscrições para conhecer|recebeu recursos para construir|passou a medir com cuidado
promete entregar até dezembro|discutiu longamente|publicou um relatório sobre
suspendeu por tempo indeterminado|inaugurou com grande festa|deixou de cobrar por
registrou aumento na procura por|pediu mais atenção com|convidou os vizinhos para visitar|defendeu na reunião
criou regras novas para|comparou os custos de|encontrou problemas graves em|levou para o interior
mostrou fotografias antigas de|resolveu testar primeiro|explicou aos jornais a falta de
fez um mapa completo de|aprovou sem debate a compra de|cancelou a entrega de|revelou detalhes sobre
procura parceiros para financiar|pintou de azul|mandou consertar|voltou a oferecer|reuniu dados sobre
ensina as crianças a cuidar de|perdeu o controle sobre|dobrou a produção de|costuma guardar em silêncio"""
_WHAT = """\
a rede de água e esgoto|os livros mais antigos do acervo|uma ponte sobre o rio|a coleta de lixo reciclável
os cursos gratuitos de informática|a vacina contra a gripe|o mercado de peixes|as trilhas da serra
um viveiro com mudas nativas|a linha noturna de ônibus|os preços do feijão e do arroz
a praça em frente à igreja|as bolsas para jovens atletas|o sistema de alerta de enchentes
a coleção de instrumentos|os barcos parados no cais|uma horta comunitária|as estradas de terra
o prédio da antiga estação|a energia que vem do vento|os recifes de coral|um arquivo de cartas
a merenda das creches|o estoque de remédios|as provas do segundo semestre|a carne vendida nas feiras
o tratamento das árvores doentes|os passeios de bicicleta|uma exposição de gravuras|a pesca da lagosta
o serviço de correio rural|as abelhas sem ferrão|os poços de petróleo|a iluminação das avenidas
o ensino de línguas indígenas|as casas erguidas na encosta|um concurso de contos|a temperatura do mar
o queijo feito na montanha|as aulas de violino"""
_HOW = """\
segundo a imprensa local|apesar da chuva forte|com apoio da comunidade|mesmo sem orçamento definido
a pedido de muitas famílias|depois de dois meses de espera|para surpresa dos turistas|como previa o contrato
sob críticas da oposição|graças a uma doação|em parceria com outras cidades|antes do início das férias
por causa da seca prolongada|de acordo com a nova lei|ao longo dos próximos cinco anos
no bairro mais populoso da região|quase sempre aos sábados|entre janeiro e fevereiro
com resultados ainda incertos|durante a festa da padroeira|sem ouvir os especialistas
na presença de convidados|conforme o cronograma divulgado|junto à fronteira com o Uruguai
diante de um público pequeno|em memória dos fundadores|desde o acidente de abril|contra a vontade dos donos
fora do horário comercial|a poucos metros da praia|pela primeira vez neste século
tal qual fazem os países vizinhos|com verba do ministério|logo após a eleição|enquanto durar a reforma
à margem do rio Paraná|em nome da transparência|longe dos olhos da fiscalização|até o fim da colheita
por sugestão de um leitor"""

_PHRASES = [[phrase for line in part.splitlines() for phrase in line.split("|")] for part in (_WHO, _DOES, _WHAT, _HOW)]
MOST_SENTENCES = min(map(len, _PHRASES))


def sentences(source: random.Random, count: int) -> list[str]:
    """``count`` sentences of some 110 characters, at most ``MOST_SENTENCES``."""
    drawn = [source.sample(phrases, count) for phrases in _PHRASES]
    return [f"{who[0].upper()}{who[1:]} {does} {what}, {how}." for who, does, what, how in zip(*drawn, strict=True)]


def text(source: random.Random, characters: int) -> str:
    """Paragraphs of three to five sentences, ``characters`` or a little more in all."""
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < characters:
        made = sentences(source, MOST_SENTENCES)
        while made and sum(map(len, paragraphs)) < characters:
            size = source.randint(3, 5)
            paragraphs.append(" ".join(made[:size]))
            made = made[size:]
    return "\n\n".join(paragraphs)


def sentence_text(source: random.Random, characters: int) -> str:
    """One paragraph that ends with the first sentence at which it has ``characters``."""
    made: list[str] = []
    for sentence in sentences(source, MOST_SENTENCES):
        made.append(sentence)
        if sum(map(len, made)) + len(made) > characters:
            break
    return " ".join(made)
