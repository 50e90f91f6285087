from pathlib import Path

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.preparation.base import ComponentEnvironment
from quati_pool.preparation.config import load_prepare_config
from quati_pool.preparation.domain_lists import domain
from quati_pool.preparation.hosts import canonical, host_of
from quati_pool.preparation.steps.url import Url
from tests.preparation.filter_steps import reasons, reasons_in_pieces, rows


def step(folder: Path = Path(), **parameters: object) -> Url:
    return Url(Url.Parameters.model_validate(parameters), ComponentEnvironment(folder))


def judged(url: str, **parameters: object) -> str:
    return reasons(step(**parameters), rows([""], urls=[url]))[0]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://www.example.pt/a/b?c#d", "www.example.pt"),
        ("HTTPS://WWW.Example.PT", "www.example.pt"),
        ("http://example.pt.", "example.pt"),
        ("http://example.pt:8080/x", "example.pt"),
        ("http://example.pt:/x", "example.pt"),
        ("http://user:p@ss@example.pt:80/x", "example.pt"),
        ("http://example.pt?x=http://other.br/", "example.pt"),
        ("http://example.pt#@other.br", "example.pt"),
        # As browsers read it, a backslash ends the host; what stands before @ is a user's name.
        ("http://evil.com\\@good.pt", "evil.com"),
        ("http://good.pt@evil.com/", "evil.com"),
        ("http:\\\\example.pt\\x", "example.pt"),
        ("  http://example.pt/ \n", "example.pt"),
        ("//example.pt/x", "example.pt"),
        ("example.pt/x", "example.pt"),
        ("example.pt:80", "example.pt"),
        ("www.example.com.br?x", "www.example.com.br"),
        ("http://localhost/x", "localhost"),
        ("http://my_site.example.pt", "my_site.example.pt"),
        # Punycode by the standards' own examples (RFC 3492 and UTS 46).
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://BÜCHER.example/", "xn--bcher-kva.example"),
        ("http://bu\u0308cher.example/", "xn--bcher-kva.example"),
        ("http://b%C3%BCcher.example/", "xn--bcher-kva.example"),
        ("http://XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("http://faß.de", "xn--fa-hia.de"),
        ("http://☃.net", "xn--n3h.net"),
        ("http://ｅｘａｍｐｌｅ。ｐｔ/", "example.pt"),
        ("http://ex%61mple.pt", "example.pt"),
        ("http://192.0.2.1:8080/", "192.0.2.1"),
        ("http://0xC0.0.0x2.1/", "192.0.2.1"),
        ("http://3221225985/", "192.0.2.1"),  # 192 · 2^24 + 2 · 2^8 + 1
        ("http://[2001:DB8:0:0::1]:80/", "[2001:db8::1]"),
        ("http://[fe80::1%25eth0]/", "[fe80::1]"),
        ("http://192.0.2.256/", None),
        ("http://a.b.1", None),  # what ends in a number is an address, or nothing
        ("http://[2001:db8::1/", None),
        ("http://[2001:db8::zz]/", None),
        ("http://[2001:db8::1]x/", None),
        ("http://", None),
        ("http:///x", None),
        ("http://:80/", None),
        ("http://example.pt:http/", None),
        ("http://example.pt:65536/", None),
        ("http://a..pt", None),
        ("http://.pt", None),
        ("http://exam ple.pt", None),
        ("http://a%2Fb.pt", None),
        ("http://%FF.pt", None),
        ("http://" + "a" * 64 + ".pt", None),
        ("http://" + "a." * 126 + "pt", None),  # 254 characters, one too many
        ("http://" + "a." * 125 + "apt", "a." * 125 + "apt"),
        ("http://\ud800.pt", None),
        ("http://\x00.pt", None),
        ("/a/b.html", None),
        ("localhost", None),
        ("mailto:a@example.pt", None),
        ("javascript:void(0)", None),
        ("data:text/html,x.pt", None),
        ("not a URL. really", None),
    ],
)
def test_the_host_of_a_url(url: str, host: str | None) -> None:
    assert host_of(url) == host


def test_a_url_of_a_million_characters_names_no_host() -> None:
    assert [host_of(url * 1_000_000) for url in ("x", "x.", "@", " ", "\\", "%41")] == [None] * 6


@given(st.text() | st.text("htp:/\\@.[]%?#1ax-é 。\x00\ud800", max_size=30).map("http://".__add__))
def test_anything_has_a_canonical_host_or_none(url: str) -> None:
    host = host_of(url)
    assert host is None or host == (host if host.startswith("[") else canonical(host))
    assert host is None or host.isascii()
    reasons(step(drop_tlds=["pt"], keep_domains=["a.br"], drop_patterns=["x"]), rows([""], urls=[url]))


@given(st.lists(st.text("aãéçñüжд", min_size=1, max_size=8), min_size=1, max_size=3))
def test_internationalised_names_are_spelt_as_the_idna_package_does(labels: list[str]) -> None:
    name = ".".join(labels) + ".br"
    try:
        expected = idna.encode(name, uts46=True).decode()
    except idna.IDNAError:  # more than browsers refuse
        return
    assert host_of(f"http://{name}/") == expected
    assert domain(name) == domain(expected) == expected


@pytest.mark.parametrize(
    ("url", "parameters", "expected"),
    [
        ("http://a.pt/", {"drop_tlds": ["pt"]}, "top-level domain"),
        ("http://a.PT./", {"drop_tlds": [".pt"]}, "top-level domain"),
        ("http://a.pt:80", {"drop_tlds": [".PT"]}, "top-level domain"),
        ("http://pt.br/", {"drop_tlds": ["pt"]}, ""),
        ("http://a.br/x.pt", {"drop_tlds": ["pt"]}, ""),
        ("http://a.рф/", {"drop_tlds": ["xn--p1ai"]}, "top-level domain"),
        ("http://a.xn--p1ai/", {"drop_tlds": [".РФ"]}, "top-level domain"),
        ("http://a.br/", {"keep_tlds": ["br"]}, ""),
        ("http://a.com/", {"keep_tlds": ["br"]}, "top-level domain"),
        ("http://192.0.2.1/", {"keep_tlds": ["br"]}, "top-level domain"),
        ("http://[::1]/", {"keep_tlds": ["br"]}, "top-level domain"),
        ("http://192.0.2.1/", {"drop_tlds": ["pt"]}, ""),
        ("http://news.rtp.pt/", {"drop_domains": ["rtp.pt"]}, "domain"),
        ("http://rtp.pt/", {"drop_domains": ["*.rtp.pt"]}, "domain"),
        ("http://xrtp.pt/", {"drop_domains": ["rtp.pt"]}, ""),
        ("http://rtp.pt.br/", {"drop_domains": ["rtp.pt"]}, ""),
        ("http://www.são-paulo.br/", {"drop_domains": [domain("São-Paulo.br")]}, "domain"),
        ("http://" + idna.encode("são-paulo.br").decode(), {"drop_domains": ["SÃO-PAULO.br."]}, "domain"),
        ("http://192.0.2.1/", {"drop_domains": ["192.0.2.1"]}, "domain"),
        ("http://1.192.0.2/", {"drop_domains": ["192.0.2.0"]}, ""),
        ("http://a.b.br/", {"keep_domains": ["b.br"]}, ""),
        ("http://c.br/", {"keep_domains": ["b.br"]}, "domain"),
        # Keep lists of hosts: one of them is enough.
        ("http://x.org/", {"keep_tlds": ["br"], "keep_domains": ["x.org"]}, ""),
        ("http://x.br/", {"keep_tlds": ["br"], "keep_domains": ["x.org"]}, ""),
        ("http://y.org/", {"keep_tlds": ["br"], "keep_domains": ["x.org"]}, "domain"),
        # What is to be dropped goes, even from what is to be kept.
        ("http://spam.x.br/", {"keep_domains": ["x.br"], "drop_domains": ["spam.x.br"]}, "domain"),
        ("http://x.pt/", {"keep_domains": ["x.pt"], "drop_tlds": ["pt"]}, "top-level domain"),
        ("http://a.br/login?x", {"drop_patterns": ["/login", "^ftp"]}, "pattern"),
        ("http://a.br/Login", {"drop_patterns": ["/login"]}, ""),
        ("http://a.br/Login", {"drop_patterns": ["(?i)/login"]}, "pattern"),
        ("http://a.br/noticias/1", {"keep_patterns": ["/noticias/"]}, ""),
        ("http://a.br/loja/1", {"keep_patterns": ["/noticias/"]}, "pattern"),
        # Hosts and patterns to keep: both are asked for.
        ("http://a.br/loja/1", {"keep_tlds": ["br"], "keep_patterns": ["/noticias/"]}, "pattern"),
        ("http://a.pt/noticias/1", {"keep_tlds": ["br"], "keep_patterns": ["/noticias/"]}, "top-level domain"),
        # No URL, no host: kept by drop lists, dropped by keep lists, or as told.
        ("", {"drop_tlds": ["pt"]}, ""),
        (" \n", {"keep_tlds": ["br"]}, "no URL"),
        ("", {"keep_patterns": ["x"]}, "no URL"),
        ("", {"missing": "drop"}, "no URL"),
        ("", {"keep_tlds": ["br"], "missing": "keep"}, ""),
        ("http://", {"drop_tlds": ["pt"]}, ""),
        ("http://", {"keep_tlds": ["br"]}, "malformed URL"),
        ("http://", {"malformed": "drop"}, "malformed URL"),
        ("http://", {"keep_tlds": ["br"], "malformed": "keep"}, ""),
        ("http:///login", {"drop_patterns": ["login"]}, "pattern"),
        ("http://a.br", {}, ""),
    ],
)
def test_lists_and_patterns(url: str, parameters: dict[str, object], expected: str) -> None:
    assert judged(url, **parameters) == expected


def test_files_of_domains(tmp_path: Path) -> None:
    (tmp_path / "drop.txt").write_text("\ufeff# theirs\n\nrtp.pt  # news\n*.São-Paulo.br\r\n", encoding="utf-8")
    (tmp_path / "keep.txt").write_text("pt\nbr\n", encoding="utf-8")
    lists = step(
        tmp_path, drop_domains_file="drop.txt", drop_domains=["x.br"], keep_domains_file="keep.txt", keep_tlds=["org"]
    )
    urls = ["http://rtp.pt", "http://são-paulo.br", "http://a.x.br", "http://a.pt", "http://b.org", "http://c.com"]
    assert reasons(lists, rows([""] * 6, urls=urls)) == ["domain", "domain", "domain", "", "", "domain"]


def test_a_changed_file_changes_the_key_and_the_verdicts(tmp_path: Path) -> None:
    (tmp_path / "drop.txt").write_text("a.br\n")
    first = step(tmp_path, drop_domains_file="drop.txt")
    first.check()
    key = first.key()
    (tmp_path / "drop.txt").write_text("a.br\nb.br\n")
    second = step(tmp_path, drop_domains_file="drop.txt")
    assert second.key() != key
    assert reasons(second, rows([""], urls=["http://b.br"])) == ["domain"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a.br\nhttps://b.br/\n", "drop.txt:2: 'https://b.br/' is not a domain"),
        (b"a.br\n\n# \n a b\n", "drop.txt:4: 'a b' is not a domain"),
        (b"a.br\n\xff\n", "drop.txt:2: is not UTF-8"),
    ],
)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "drop.txt").write_bytes(content)
    with pytest.raises(InputError) as refused:
        step(tmp_path, drop_domains_file="drop.txt").check()
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["none.txt", "folder"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=name):
        step(tmp_path, keep_domains_file=name).check()


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("drop_tlds: [com.br]", "'com.br' is not a top-level domain"),
        ("drop_tlds: ['']", "'' is not a domain"),
        ("keep_domains: [b.br, https://a.br/x]", "'https://a.br/x' is not a domain"),
        ("drop_patterns: ['a', '(b']", "'(b' is not a regular expression"),
        ("keep_patterns: ['" + "(" * 5000 + "']", "is not a regular expression"),
        ("missing: perhaps", "'keep' or 'drop'"),
        ("drop_tld: [pt]", "did you mean 'drop_tlds'?"),
    ],
)
def test_a_fault_in_the_parameters_is_told_with_its_line(tmp_path: Path, setting: str, fault: str) -> None:
    path = tmp_path / "prepare.yaml"
    path.write_text(f"name: x\nsteps:\n  - read: {{path: a.jsonl}}\n  - url:\n      {setting}\n  - write: {{to: x}}\n")
    with pytest.raises(InputError) as refused:
        load_prepare_config(path)
    assert f"{path}:5: " in str(refused.value)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


def test_details_name_what_was_found() -> None:
    lists = step(drop_tlds=["pt"], drop_domains=["x.br"], drop_patterns=["/login"], missing="drop", malformed="drop")
    urls = ["http://a.pt/", "http://w.x.br/", "http://b.br/login", "", "http://\x1b[2J" + "x" * 500]
    verdicts = lists.apply(rows([""] * 5, urls=urls))
    assert [verdicts.detail(row) for row in range(4)] == [
        ".pt is among those to drop: a.pt",
        "x.br is among those to drop: w.x.br",
        "http://b.br/login contains /login",
        "the page has no URL",
    ]
    assert verdicts.detail(4).isprintable()
    assert len(verdicts.detail(4)) < 100


def test_a_step_without_any_rule_says_so() -> None:
    assert step().notes() == ("url drops nothing: it has no list, no pattern, and keeps pages without URL",)
    assert step(drop_tlds=["pt"]).notes() == ()
    assert step(missing="drop").notes() == ()


@given(
    st.lists(
        st.sampled_from(["", "http://", "http://a.pt", "x.br/login", "http://é.br", "//b.com", "http://b.com/é"]),
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_verdicts_do_not_depend_on_batches(urls: list[str], size: int) -> None:
    lists = step(drop_tlds=["pt"], drop_patterns=["login"], drop_domains=["b.com"])
    batch = rows([""] * len(urls), urls=urls)
    assert reasons_in_pieces(lists, batch, size) == reasons(lists, batch)
