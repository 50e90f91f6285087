"""The dashboard of a collection that people have graded carelessly: everything on it is in the lead's language,
including what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.pages import Scheme, too_wide
from tests.browser.served import Served, code_for, drawn, let_in, served, visitor
from tests.commands.annotate.people_at_work import answer, assigned, collection, pairs, text, token
from tests.commands.judged import pair

pytestmark = pytest.mark.browser

QUERIES, GOLD = 6, 6
SAID = {
    "pt": [
        "Ainda não há intervalo: nenhum juiz avaliou o pool, e as estimativas usam as notas de um juiz",
        "ana, bia, κ: a nota 2 em todos os pares, dos dois lados.",
        "α de Krippendorff, ordinal: todos deram a nota 2 a todos os pares.",
        "ana, κ: a nota 2 em todos os pares, dos dois lados.",
        "Todas as pessoas, κ quadrático: a nota 2 em todos os pares, dos dois lados.",
        "ana: 0% dos 6 pares-ouro com a nota conhecida (abaixo de 60%)",
    ],
    "es": [
        "Todavía no hay intervalo: ningún juez ha evaluado el pool, y las estimaciones usan las notas de un juez",
        "ana, bia, κ: la nota 2 en todos los pares, en ambos lados.",
        "α de Krippendorff, ordinal: todos dieron la nota 2 a todos los pares.",
        "ana, κ: la nota 2 en todos los pares, en ambos lados.",
        "Todas las personas, κ cuadrático: la nota 2 en todos los pares, en ambos lados.",
        "ana: 0 % de los 6 pares de oro con la nota conocida (menos del 60 %)",
    ],
}
ENGLISH = ["no judge", "gave every pair", "every pair got", "both gave", "the first grades", "the repeats", "the grade"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """The app, and the code of a lead. Ana and bia gave everything the grade 2, gold pairs of the grade 0 and what came
    again included; a sample of pairs was drawn, and no judge has graded."""
    rows = [*pairs(QUERIES, 10), *[pair(f"g{number}", "d0", text(1000 + number)) for number in range(GOLD)]]
    config = collection(tmp_path_factory.mktemp("dashboard"), rows, annotation={"repeats": 0.3, "gold": 0.2})
    with AnnotationSession.open(config) as session:
        assigned(session, (None, None), queries=[f"q{number}" for number in range(QUERIES)])
        for number in range(GOLD):
            session.training.add(f"g{number}", "d0", 0, "", "assign", gold=True)
        for name in ("ana", "bia"):
            mine, count = token(session, name), 0
            while (item := next_item(session, mine)) is not None:
                submit(session, mine, item, answer(count, 2))
                count += 1
    assign(config, AssignOptions(random="30"))
    lia = code_for(config, "lia", "lead")
    with served(config) as started:
        yield started, lia


@pytest.mark.parametrize(("language", "scheme", "width"), [("pt", "light", 1280), ("es", "dark", 390)])
def test_what_is_lacking_is_said_in_the_leads_language(
    browser: Browser, app: tuple[Served, str], tmp_path: Path, language: str, scheme: Scheme, width: int
) -> None:
    # As high as the page is long: Streamlit scrolls within the page.
    with visitor(browser, width, scheme, language, height=2600) as (_, record):
        page = record.page
        let_in(page, app[0], app[1])
        page.goto(f"{app[0].address}/dashboard")
        for said in SAID[language]:
            expect(page.locator("[data-testid=stMain]")).to_contain_text(said)
        drawn(page)
        shown = page.locator("[data-testid=stMain]").inner_text()
        assert not [one for one in ENGLISH if one in shown]
        scroll = too_wide(page)
        record.screenshot(tmp_path / f"dashboard-{language}-{width}-{scheme}.png")
        assert scroll <= 0, f"the dashboard is {scroll} pixels too wide"
        assert record.errors == []
        # What measures this would see it.
        page.locator("h1").evaluate("heading => { heading.style.width = '3000px'; }")
        assert too_wide(page) > 1000
