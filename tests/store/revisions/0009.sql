SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.assessors (
    collection text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    handle text NOT NULL COLLATE pg_catalog."C",
    code_hash text NOT NULL,
    settings json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT known_role CHECK ((role = ANY (ARRAY['assessor'::text, 'lead'::text])))
);
CREATE TABLE public.assignments (
    assignment_id bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    design_id bigint NOT NULL,
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    replicate integer NOT NULL,
    query_order integer NOT NULL,
    state text NOT NULL,
    holder text COLLATE pg_catalog."C",
    leased_until double precision,
    query_turn integer,
    turn integer,
    skips integer NOT NULL,
    line bigint NOT NULL,
    label_seq bigint,
    phase text DEFAULT 'blind'::text NOT NULL,
    CONSTRAINT known_phase CHECK ((phase = ANY (ARRAY['blind'::text, 'repeat'::text]))),
    CONSTRAINT known_state CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'withdrawn'::text])))
);
CREATE SEQUENCE public.assignments_assignment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.assignments_assignment_id_seq OWNED BY public.assignments.assignment_id;
CREATE TABLE public.attempts (
    seq bigint NOT NULL,
    label_seq bigint NOT NULL,
    number integer NOT NULL,
    status text NOT NULL,
    answer text,
    problem text,
    finish_reason text,
    output text,
    model text,
    endpoint text,
    response_id text,
    fingerprint text,
    input_tokens bigint,
    cached_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cost double precision,
    seconds double precision,
    retries integer NOT NULL,
    extra json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    thoughts text,
    CONSTRAINT known_status CHECK ((status = ANY (ARRAY['ok'::text, 'unparsed'::text, 'off_scale'::text, 'refused'::text, 'truncated'::text, 'failed'::text, 'skipped'::text, 'unsure'::text, 'retracted'::text, 'no_text'::text])))
);
CREATE SEQUENCE public.attempts_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.attempts_seq_seq OWNED BY public.attempts.seq;
CREATE TABLE public.authoring_entries (
    seq bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    item_id bigint NOT NULL,
    task_id bigint,
    round text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    by text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    content json NOT NULL,
    reason text,
    undoes bigint,
    active_seconds double precision,
    elapsed_seconds double precision,
    nonce text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_action CHECK ((action = ANY (ARRAY['opened'::text, 'given'::text, 'refused'::text, 'skipped'::text, 'ended'::text, 'undone'::text, 'released'::text])))
);
CREATE SEQUENCE public.authoring_entries_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.authoring_entries_seq_seq OWNED BY public.authoring_entries.seq;
CREATE TABLE public.authoring_items (
    item_id bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    design text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    source_id text NOT NULL COLLATE pg_catalog."C",
    parent_id bigint,
    content json NOT NULL,
    place bigint NOT NULL,
    state text NOT NULL,
    reason text,
    made_by bigint,
    drafted_by text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_state CHECK ((state = ANY (ARRAY['open'::text, 'kept'::text, 'out'::text])))
);
CREATE SEQUENCE public.authoring_items_item_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.authoring_items_item_id_seq OWNED BY public.authoring_items.item_id;
CREATE TABLE public.authoring_tasks (
    task_id bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    item_id bigint NOT NULL,
    round text NOT NULL COLLATE pg_catalog."C",
    replicate integer NOT NULL,
    place bigint NOT NULL,
    state text NOT NULL,
    holder text COLLATE pg_catalog."C",
    leased_until double precision,
    step integer NOT NULL,
    skips integer NOT NULL,
    CONSTRAINT known_state CHECK ((state = ANY (ARRAY['open'::text, 'done'::text, 'withdrawn'::text])))
);
CREATE SEQUENCE public.authoring_tasks_task_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.authoring_tasks_task_id_seq OWNED BY public.authoring_tasks.task_id;
CREATE TABLE public.batch_requests (
    batch_key text NOT NULL COLLATE pg_catalog."C",
    custom_id text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    content_sha text NOT NULL COLLATE pg_catalog."C",
    sample integer NOT NULL,
    extra json NOT NULL,
    collected boolean NOT NULL
);
CREATE TABLE public.batches (
    key text NOT NULL COLLATE pg_catalog."C",
    collection text NOT NULL COLLATE pg_catalog."C",
    labeler_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL,
    status text NOT NULL,
    file_id text,
    batch_id text,
    requests integer NOT NULL,
    extra json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_status CHECK ((status = ANY (ARRAY['prepared'::text, 'submitted'::text, 'collected'::text, 'abandoned'::text])))
);
CREATE TABLE public.designs (
    design_id bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL,
    seed bigint NOT NULL,
    frame_sha text NOT NULL COLLATE pg_catalog."C",
    frame_pairs bigint NOT NULL,
    strata json NOT NULL,
    parameters json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_method CHECK ((method = ANY (ARRAY['all'::text, 'random'::text, 'stratified'::text, 'queries'::text, 'imported'::text, 'random-queries'::text, 'active'::text, 'repeats'::text, 'anchors'::text])))
);
CREATE SEQUENCE public.designs_design_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.designs_design_id_seq OWNED BY public.designs.design_id;
CREATE TABLE public.frame_pairs (
    design_id bigint NOT NULL,
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    stratum text NOT NULL COLLATE pg_catalog."C",
    inclusion double precision NOT NULL,
    CONSTRAINT probability CHECK (((inclusion > (0)::double precision) AND (inclusion <= (1)::double precision)))
);
CREATE TABLE public.labels (
    seq bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    labeler_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    version text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    content_sha text NOT NULL COLLATE pg_catalog."C",
    phase text NOT NULL,
    sample integer NOT NULL,
    relevance integer,
    status text NOT NULL,
    rationale text,
    shared_from bigint,
    assignment_id bigint,
    created_at timestamp with time zone NOT NULL,
    extra json NOT NULL,
    nonce text COLLATE pg_catalog."C",
    reading text,
    rereads bigint,
    CONSTRAINT grade_if_and_only_if_ok CHECK (((status = 'ok'::text) = (relevance IS NOT NULL))),
    CONSTRAINT known_kind CHECK ((kind = ANY (ARRAY['judge'::text, 'assessor'::text]))),
    CONSTRAINT known_phase CHECK ((phase = ANY (ARRAY['training'::text, 'blind'::text, 'revealed'::text, 'final'::text, 'repeat'::text, 'probe'::text]))),
    CONSTRAINT known_status CHECK ((status = ANY (ARRAY['ok'::text, 'unparsed'::text, 'off_scale'::text, 'refused'::text, 'truncated'::text, 'failed'::text, 'skipped'::text, 'unsure'::text, 'retracted'::text, 'no_text'::text])))
);
CREATE SEQUENCE public.labels_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.labels_seq_seq OWNED BY public.labels.seq;
CREATE TABLE public.quati_pool_revision (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.question_events (
    seq bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    question_id bigint NOT NULL,
    by text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    query text NOT NULL,
    narrative text,
    theme text,
    scope text,
    type text,
    doc_id text COLLATE pg_catalog."C",
    query_id text COLLATE pg_catalog."C",
    comment text,
    nonce text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    drafted_by text COLLATE pg_catalog."C",
    CONSTRAINT known_action CHECK ((action = ANY (ARRAY['proposed'::text, 'revised'::text, 'accepted'::text, 'sent_back'::text, 'withdrawn'::text])))
);
CREATE SEQUENCE public.question_events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.question_events_seq_seq OWNED BY public.question_events.seq;
CREATE TABLE public.queues (
    collection text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    query_order integer NOT NULL,
    free integer NOT NULL
);
CREATE TABLE public.remarks (
    seq bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    by text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    text text,
    nonce text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_action CHECK ((action = ANY (ARRAY['asked'::text, 'answered'::text, 'read'::text, 'closed'::text])))
);
CREATE SEQUENCE public.remarks_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.remarks_seq_seq OWNED BY public.remarks.seq;
CREATE TABLE public.reveals (
    collection text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.selections (
    design_id bigint NOT NULL,
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    stratum text NOT NULL COLLATE pg_catalog."C",
    inclusion double precision NOT NULL,
    replicates integer NOT NULL,
    CONSTRAINT probability CHECK (((inclusion > (0)::double precision) AND (inclusion <= (1)::double precision)))
);
CREATE TABLE public.sessions (
    token_sha text NOT NULL COLLATE pg_catalog."C",
    collection text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL,
    seen_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    ended_at double precision
);
CREATE TABLE public.sign_in_failures (
    collection text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    failures integer NOT NULL,
    last_at double precision NOT NULL
);
CREATE TABLE public.training (
    training_id bigint NOT NULL,
    collection text NOT NULL COLLATE pg_catalog."C",
    query_id text NOT NULL COLLATE pg_catalog."C",
    doc_id text NOT NULL COLLATE pg_catalog."C",
    relevance integer NOT NULL,
    explanation text NOT NULL,
    by text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    dropped_at timestamp with time zone,
    gold boolean DEFAULT false NOT NULL
);
CREATE SEQUENCE public.training_training_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.training_training_id_seq OWNED BY public.training.training_id;
CREATE TABLE public.versions (
    version text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    definition json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_kind CHECK ((kind = ANY (ARRAY['judge'::text, 'assessor'::text])))
);
ALTER TABLE ONLY public.assignments ALTER COLUMN assignment_id SET DEFAULT nextval('public.assignments_assignment_id_seq'::regclass);
ALTER TABLE ONLY public.attempts ALTER COLUMN seq SET DEFAULT nextval('public.attempts_seq_seq'::regclass);
ALTER TABLE ONLY public.authoring_entries ALTER COLUMN seq SET DEFAULT nextval('public.authoring_entries_seq_seq'::regclass);
ALTER TABLE ONLY public.authoring_items ALTER COLUMN item_id SET DEFAULT nextval('public.authoring_items_item_id_seq'::regclass);
ALTER TABLE ONLY public.authoring_tasks ALTER COLUMN task_id SET DEFAULT nextval('public.authoring_tasks_task_id_seq'::regclass);
ALTER TABLE ONLY public.designs ALTER COLUMN design_id SET DEFAULT nextval('public.designs_design_id_seq'::regclass);
ALTER TABLE ONLY public.labels ALTER COLUMN seq SET DEFAULT nextval('public.labels_seq_seq'::regclass);
ALTER TABLE ONLY public.question_events ALTER COLUMN seq SET DEFAULT nextval('public.question_events_seq_seq'::regclass);
ALTER TABLE ONLY public.remarks ALTER COLUMN seq SET DEFAULT nextval('public.remarks_seq_seq'::regclass);
ALTER TABLE ONLY public.training ALTER COLUMN training_id SET DEFAULT nextval('public.training_training_id_seq'::regclass);
INSERT INTO public.assessors VALUES ('pira', 'bia', 'lead', 'EFGH', 'scrypt$1$1$1$salt$other', '{}', '2026-11-27 08:55:03.440947+00', NULL);
INSERT INTO public.assessors VALUES ('pira', 'ana', 'assessor', 'ABCD', 'scrypt$1$1$1$salt$hash', '{"language": "pt"}', '2026-11-27 08:55:03.439296+00', NULL);
INSERT INTO public.assessors VALUES ('pira', 'caio', 'assessor', 'JKLM', 'scrypt$1$1$1$salt$third', '{}', '2026-11-27 08:55:03.441658+00', '2026-11-27 08:55:03.445831+00');
INSERT INTO public.assignments VALUES (4, 'pira', 1, 'q1', 'd3', 1, 1, 'open', NULL, NULL, NULL, NULL, 0, 0, NULL, 'blind');
INSERT INTO public.assignments VALUES (1, 'pira', 1, 'q1', 'd0', 1, 1, 'done', 'ana', 1795771503.464069, 1, 0, 0, 0, 22, 'blind');
INSERT INTO public.assignments VALUES (2, 'pira', 1, 'q1', 'd1', 1, 1, 'open', 'ana', 1795771503.464069, 1, 1, 1, 0, 23, 'blind');
INSERT INTO public.assignments VALUES (3, 'pira', 1, 'q1', 'd2', 1, 1, 'withdrawn', NULL, NULL, NULL, NULL, 0, 0, NULL, 'blind');
INSERT INTO public.assignments VALUES (5, 'pira', 2, 'q1', 'd0', 1, 1, 'done', 'ana', NULL, -1, 0, 0, 0, 24, 'repeat');
INSERT INTO public.attempts VALUES (1, 1, 1, 'unparsed', 'NUL 0000, lone d800, ação', 'no grade found', 'stop', 'text', 'm-2024', 'http://localhost/v1', 'r1', 'f1', 120, 64, 31, 0, 0.0125, 0.75, 1, '{"logprobs": [-0.5, null]}', '2026-11-27 08:55:03.428914+00', NULL);
INSERT INTO public.attempts VALUES (2, 1, 2, 'ok', '{"Razão": "…", "Pontuação": 3}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, '{}', '2026-11-27 08:55:03.428914+00', 'ação 0000');
INSERT INTO public.attempts VALUES (3, 3, 1, 'failed', 'an answer about 7', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.5, 0, '{}', '2026-11-27 08:55:03.431555+00', NULL);
INSERT INTO public.attempts VALUES (4, 21, 1, 'ok', 'an answer about d0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.5, 0, '{}', '2026-11-27 08:55:03.438121+00', NULL);
INSERT INTO public.authoring_entries VALUES (1, 'pira', 1, 1, 'write', 0, 'ana', 'opened', '{}', NULL, NULL, NULL, NULL, NULL, '2026-11-27 08:55:03.573537+00');
INSERT INTO public.authoring_entries VALUES (2, 'pira', 1, 1, 'write', 0, 'ana', 'given', '{"related": "yes"}', NULL, NULL, 2.5, 4, 'a1', '2026-11-27 08:55:03.576669+00');
INSERT INTO public.authoring_entries VALUES (3, 'pira', 1, 1, 'write', 1, 'ana', 'given', '{"question": "Por qu\u00ea? <b>"}', NULL, NULL, NULL, NULL, 'a2', '2026-11-27 08:55:03.583319+00');
INSERT INTO public.authoring_entries VALUES (4, 'pira', 1, 1, 'write', 1, 'ana', 'given', '{"question": "Por qu\u00ea? <b>"}', NULL, NULL, NULL, NULL, 'a3', '2026-11-27 08:55:03.588967+00');
INSERT INTO public.authoring_entries VALUES (5, 'pira', 1, 1, 'write', 1, 'ana', 'given', '{"question": "Por qu\u00ea? <b>"}', NULL, NULL, NULL, NULL, 'a4', '2026-11-27 08:55:03.593294+00');
INSERT INTO public.authoring_entries VALUES (6, 'pira', 1, 1, 'write', 1, 'ana', 'ended', '{}', NULL, NULL, NULL, NULL, 'a5', '2026-11-27 08:55:03.597471+00');
INSERT INTO public.authoring_entries VALUES (7, 'pira', 1, 1, 'write', 1, 'ana', 'undone', '{}', NULL, 6, NULL, NULL, 'a6', '2026-11-27 08:55:03.606149+00');
INSERT INTO public.authoring_entries VALUES (8, 'pira', 1, 1, 'write', 1, 'ana', 'ended', '{}', NULL, NULL, NULL, NULL, 'a7', '2026-11-27 08:55:03.613378+00');
INSERT INTO public.authoring_entries VALUES (9, 'pira', 1, 1, 'write', 1, 'ana', 'undone', '{}', NULL, 5, NULL, NULL, 'a8', '2026-11-27 08:55:03.618938+00');
INSERT INTO public.authoring_entries VALUES (10, 'pira', 5, 5, 'assess', 0, 'bia', 'opened', '{}', NULL, NULL, NULL, NULL, NULL, '2026-11-27 08:55:03.626807+00');
INSERT INTO public.authoring_entries VALUES (11, 'pira', 5, 5, 'assess', 0, 'bia', 'given', '{"said": "\u001a"}', NULL, NULL, NULL, NULL, 'b1', '2026-11-27 08:55:03.628443+00');
INSERT INTO public.authoring_entries VALUES (12, 'pira', 5, 5, 'assess', 1, 'bia', 'given', '{"said": "sense 5"}', NULL, NULL, NULL, NULL, 'b2', '2026-11-27 08:55:03.631411+00');
INSERT INTO public.authoring_entries VALUES (13, 'pira', 5, 7, 'curate', 0, 'lea', 'opened', '{}', NULL, NULL, NULL, NULL, NULL, '2026-11-27 08:55:03.635998+00');
INSERT INTO public.authoring_entries VALUES (14, 'pira', 5, 7, 'curate', 0, 'lea', 'given', '{"said": "corrected"}', NULL, NULL, NULL, NULL, 'l1', '2026-11-27 08:55:03.637562+00');
INSERT INTO public.authoring_entries VALUES (15, 'pira', 4, 4, 'assess', 0, 'bia', 'opened', '{}', NULL, NULL, NULL, NULL, NULL, '2026-11-27 08:55:03.642694+00');
INSERT INTO public.authoring_entries VALUES (16, 'pira', 4, 4, 'assess', 0, 'bia', 'skipped', '{}', NULL, NULL, NULL, NULL, 'b3', '2026-11-27 08:55:03.64405+00');
INSERT INTO public.authoring_entries VALUES (17, 'pira', 2, 2, 'write', 0, 'bia', 'opened', '{}', NULL, NULL, NULL, NULL, NULL, '2026-11-27 08:55:03.648435+00');
INSERT INTO public.authoring_entries VALUES (18, 'pira', 2, 2, 'write', 0, 'bia', 'refused', '{"comment": "N\u00e3o se entende."}', 'unclear', NULL, NULL, NULL, 'b4', '2026-11-27 08:55:03.649856+00');
INSERT INTO public.authoring_entries VALUES (19, 'pira', 4, 4, 'assess', 0, 'lea', 'released', '{}', 'given_back', NULL, NULL, NULL, 'l2', '2026-11-27 08:55:03.653027+00');
INSERT INTO public.authoring_items VALUES (3, 'pira', 'tests/rounds', 'text', 't3', NULL, '{"text": "Sal"}', 3, 'open', NULL, NULL, 'v1', '2026-11-27 08:55:03.561808+00');
INSERT INTO public.authoring_items VALUES (4, 'pira', 'tests/rounds', 'question', 's1', 1, '{"question": "Por qu\u00ea? <b>"}', 3, 'open', NULL, 3, NULL, '2026-11-27 08:55:03.585088+00');
INSERT INTO public.authoring_items VALUES (1, 'pira', 'tests/rounds', 'text', 't1', NULL, '{"text": "Manguezais: \u001a a\u00e7\u00e3o \ud83e\udd80"}', 1, 'kept', NULL, NULL, NULL, '2026-11-27 08:55:03.561802+00');
INSERT INTO public.authoring_items VALUES (6, 'pira', 'tests/rounds', 'question', 's3', 1, '{"question": "Por qu\u00ea? <b>"}', 1, 'out', 'withdrawn_by_author', 5, NULL, '2026-11-27 08:55:03.594464+00');
INSERT INTO public.authoring_items VALUES (5, 'pira', 'tests/rounds', 'question', 's2', 1, '{"question": "Por qu\u00ea? <b>"}', 2, 'kept', NULL, 4, NULL, '2026-11-27 08:55:03.590227+00');
INSERT INTO public.authoring_items VALUES (2, 'pira', 'tests/rounds', 'text', 't2', NULL, '{"text": "Um texto."}', 2, 'out', 'unclear', NULL, NULL, '2026-11-27 08:55:03.561807+00');
INSERT INTO public.authoring_tasks VALUES (3, 'pira', 3, 'write', 1, 3, 'open', NULL, NULL, 0, 0);
INSERT INTO public.authoring_tasks VALUES (1, 'pira', 1, 'write', 1, 1, 'done', 'ana', NULL, 1, 0);
INSERT INTO public.authoring_tasks VALUES (6, 'pira', 6, 'assess', 1, 1, 'withdrawn', NULL, NULL, 0, 0);
INSERT INTO public.authoring_tasks VALUES (5, 'pira', 5, 'assess', 1, 2, 'done', 'bia', NULL, 2, 0);
INSERT INTO public.authoring_tasks VALUES (7, 'pira', 5, 'curate', 1, 2, 'done', 'lea', NULL, 1, 0);
INSERT INTO public.authoring_tasks VALUES (2, 'pira', 2, 'write', 1, 2, 'done', 'bia', NULL, 0, 0);
INSERT INTO public.authoring_tasks VALUES (4, 'pira', 4, 'assess', 1, 3, 'open', NULL, NULL, 0, 0);
INSERT INTO public.batch_requests VALUES ('k1', 'r1', 'q9', 'd1', 'x', 1, '{}', false);
INSERT INTO public.batch_requests VALUES ('k1', 'r0', 'q9', 'd0', 'x', 1, '{}', true);
INSERT INTO public.batches VALUES ('k1', 'pira', 'gpt', 'v1', '/v1/chat/completions', 'submitted', 'file-1', 'batch-1', 2, '{"window": "24h"}', '2026-11-27 08:55:03.435428+00');
INSERT INTO public.designs VALUES (1, 'pira', 'stratified', 7, 'f00d', 40, '{"grade=2": [40, 4]}', '{"n": 4}', '2026-11-27 08:55:03.452397+00');
INSERT INTO public.designs VALUES (2, 'pira', 'repeats', 7, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, '{}', '{"rate": 0.05}', '2026-11-27 08:55:03.477299+00');
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd0', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd1', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd2', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd3', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd4', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd5', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd6', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd7', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd8', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd9', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd10', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd11', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd12', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd13', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd14', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd15', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd16', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd17', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd18', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd19', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd20', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd21', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd22', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd23', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd24', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd25', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd26', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd27', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd28', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd29', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd30', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd31', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd32', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd33', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd34', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd35', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd36', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd37', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd38', 'grade=2', 0.1);
INSERT INTO public.frame_pairs VALUES (1, 'q1', 'd39', 'grade=2', 0.1);
INSERT INTO public.labels VALUES (1, 'pira', 'gpt', 'judge', 'v1', 'q1', 'd1', 'sha of d1', 'blind', 2, 3, 'ok', 'Responde à pergunta', NULL, NULL, '2026-11-27 08:55:03.428914+00', '{"expected_grade": 2.5}', NULL, '2-0123456789ab', NULL);
INSERT INTO public.labels VALUES (2, 'pira', 'gpt', 'judge', 'v1', 'q1', '007', 'sha of 007', 'blind', 1, 3, 'ok', NULL, 1, NULL, '2026-11-27 08:55:03.428914+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (3, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, NULL, 'failed', NULL, NULL, NULL, '2026-11-27 08:55:03.431555+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (4, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.432234+00', '{}', NULL, '2-0123456789ab', 3);
INSERT INTO public.labels VALUES (5, 'pira', 'gpt', 'judge', 'v1', 'q2', 'ok', 'sha of ok', 'blind', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (6, 'pira', 'gpt', 'judge', 'v1', 'q2', 'unparsed', 'sha of unparsed', 'blind', 1, NULL, 'unparsed', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (7, 'pira', 'gpt', 'judge', 'v1', 'q2', 'off_scale', 'sha of off_scale', 'blind', 1, NULL, 'off_scale', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (8, 'pira', 'gpt', 'judge', 'v1', 'q2', 'refused', 'sha of refused', 'blind', 1, NULL, 'refused', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (9, 'pira', 'gpt', 'judge', 'v1', 'q2', 'truncated', 'sha of truncated', 'blind', 1, NULL, 'truncated', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (10, 'pira', 'gpt', 'judge', 'v1', 'q2', 'failed', 'sha of failed', 'blind', 1, NULL, 'failed', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (11, 'pira', 'gpt', 'judge', 'v1', 'q2', 'skipped', 'sha of skipped', 'blind', 1, NULL, 'skipped', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (12, 'pira', 'gpt', 'judge', 'v1', 'q2', 'unsure', 'sha of unsure', 'blind', 1, NULL, 'unsure', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (13, 'pira', 'gpt', 'judge', 'v1', 'q2', 'retracted', 'sha of retracted', 'blind', 1, NULL, 'retracted', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (14, 'pira', 'gpt', 'judge', 'v1', 'q2', 'no_text', 'sha of no_text', 'blind', 1, NULL, 'no_text', NULL, NULL, NULL, '2026-11-27 08:55:03.432761+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (15, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, 0, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.43365+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (16, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, NULL, 'truncated', NULL, NULL, NULL, '2026-11-27 08:55:03.43365+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (17, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd1', 'sha of d1', 'final', 1, 2, 'ok', NULL, NULL, 4, '2026-11-27 08:55:03.434122+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (18, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd1', 'sha of d1', 'training', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.434525+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (19, 'pira', 'gpt', 'judge', 'v1', 'q1', 'd1', 'sha of d1', 'repeat', 1, 1, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.434845+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (20, 'pira', 'gpt', 'judge', 'v1', 'q1', 'd1', 'sha of d1', 'probe', 1, 0, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.434845+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (21, 'pira', 'gpt', 'judge', 'v1', 'q9', 'd0', 'sha of d0', 'blind', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-27 08:55:03.438121+00', '{}', NULL, NULL, NULL);
INSERT INTO public.labels VALUES (22, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd0', 'sha of d0', 'blind', 1, 2, 'ok', NULL, NULL, 1, '2026-11-27 08:55:03.466836+00', '{}', 'd0', NULL, NULL);
INSERT INTO public.labels VALUES (23, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd1', 'sha of d1', 'blind', 1, NULL, 'skipped', NULL, NULL, 2, '2026-11-27 08:55:03.468928+00', '{}', 'd1', NULL, NULL);
INSERT INTO public.labels VALUES (24, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd0', 'sha of d0', 'repeat', 1, 2, 'ok', NULL, NULL, 5, '2026-11-27 08:55:03.550596+00', '{}', 'again', NULL, NULL);
INSERT INTO public.quati_pool_revision VALUES ('0009');
INSERT INTO public.question_events VALUES (1, 'pira', 1, 'ana', 'proposed', 'Por quê?', 'Causas.', 'mar', 'Brasil', 'causa', 'd1', NULL, 'primeira', 'n1', '2026-11-27 08:55:03.555761+00', NULL);
INSERT INTO public.question_events VALUES (2, 'pira', 1, 'bia', 'accepted', 'Por quê?', 'Causas.', 'mar', 'Brasil', 'causa', 'd1', 'q10', NULL, NULL, '2026-11-27 08:55:03.558408+00', NULL);
INSERT INTO public.queues VALUES ('pira', 'q1', 1, 1);
INSERT INTO public.remarks VALUES (1, 'pira', 'q1', 'd1', 'ana', 'ana', 'asked', 'NUL 0000, ação?', 'remark', '2026-11-27 08:55:03.551651+00');
INSERT INTO public.remarks VALUES (2, 'pira', 'q1', 'd1', 'ana', 'bia', 'answered', 'Sim.', NULL, '2026-11-27 08:55:03.554035+00');
INSERT INTO public.remarks VALUES (3, 'pira', 'q1', 'd1', 'ana', 'ana', 'read', NULL, NULL, '2026-11-27 08:55:03.554697+00');
INSERT INTO public.remarks VALUES (4, 'pira', 'q1', 'd1', 'ana', 'bia', 'closed', NULL, NULL, '2026-11-27 08:55:03.555245+00');
INSERT INTO public.reveals VALUES ('pira', 'bia', 'q1', 'd0', '2026-11-27 08:55:03.476502+00');
INSERT INTO public.reveals VALUES ('pira', 'bia', 'q1', 'd9', '2026-11-27 08:55:03.476502+00');
INSERT INTO public.selections VALUES (1, 'q1', 'd0', 'grade=2', 0.1, 1);
INSERT INTO public.selections VALUES (1, 'q1', 'd1', 'grade=2', 0.1, 1);
INSERT INTO public.selections VALUES (1, 'q1', 'd2', 'grade=2', 0.1, 1);
INSERT INTO public.selections VALUES (1, 'q1', 'd3', 'grade=2', 0.1, 1);
INSERT INTO public.sessions VALUES ('5e55', 'pira', 'ana', 1795769703.444208, 1795769703.444208, 1795773303.444208, NULL);
INSERT INTO public.sessions VALUES ('5e56', 'pira', 'caio', 1795769703.445648, 1795769703.445648, 1795773303.445648, 1795769703.447179);
INSERT INTO public.sign_in_failures VALUES ('pira', '127.0.0.1', 1, 1795769703.451721);
INSERT INTO public.sign_in_failures VALUES ('pira', 'ABCD', 1, 1795769703.452245);
INSERT INTO public.training VALUES (1, 'pira', 'q1', 'd9', 1, 'only on topic', 'bia', '2026-11-27 08:55:03.471824+00', '2026-11-27 08:55:03.474585+00', false);
INSERT INTO public.training VALUES (2, 'pira', 'q1', 'd9', 2, 'answers: NUL 0000, ação', 'bia', '2026-11-27 08:55:03.475027+00', NULL, false);
INSERT INTO public.training VALUES (3, 'pira', 'q1', 'd8', 0, '', 'bia', '2026-11-27 08:55:03.475793+00', NULL, true);
INSERT INTO public.versions VALUES ('v1', 'judge', '{"model": "m-2024", "prompt": {"system": "Julgue a passagem\u2026", "grades": [0, 1, 2, 3]}}', '2026-11-27 08:55:03.424171+00');
INSERT INTO public.versions VALUES ('guide-1', 'assessor', '{"guidelines": "first"}', '2026-11-27 08:55:03.427642+00');
SELECT pg_catalog.setval('public.assignments_assignment_id_seq', 5, true);
SELECT pg_catalog.setval('public.attempts_seq_seq', 4, true);
SELECT pg_catalog.setval('public.authoring_entries_seq_seq', 19, true);
SELECT pg_catalog.setval('public.authoring_items_item_id_seq', 6, true);
SELECT pg_catalog.setval('public.authoring_tasks_task_id_seq', 7, true);
SELECT pg_catalog.setval('public.designs_design_id_seq', 2, true);
SELECT pg_catalog.setval('public.labels_seq_seq', 24, true);
SELECT pg_catalog.setval('public.question_events_seq_seq', 2, true);
SELECT pg_catalog.setval('public.remarks_seq_seq', 4, true);
SELECT pg_catalog.setval('public.training_training_id_seq', 3, true);
ALTER TABLE ONLY public.assessors
    ADD CONSTRAINT assessors_pkey PRIMARY KEY (collection, name);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT assignments_pkey PRIMARY KEY (assignment_id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT authoring_entries_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.authoring_items
    ADD CONSTRAINT authoring_items_pkey PRIMARY KEY (item_id);
ALTER TABLE ONLY public.authoring_tasks
    ADD CONSTRAINT authoring_tasks_pkey PRIMARY KEY (task_id);
ALTER TABLE ONLY public.batch_requests
    ADD CONSTRAINT batch_requests_pkey PRIMARY KEY (batch_key, custom_id);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.designs
    ADD CONSTRAINT designs_pkey PRIMARY KEY (design_id);
ALTER TABLE ONLY public.frame_pairs
    ADD CONSTRAINT frame_pairs_pkey PRIMARY KEY (design_id, query_id, doc_id);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT one_entry_a_nonce UNIQUE (nonce);
ALTER TABLE ONLY public.question_events
    ADD CONSTRAINT one_event_a_nonce UNIQUE (nonce);
ALTER TABLE ONLY public.assessors
    ADD CONSTRAINT one_handle UNIQUE (collection, handle);
ALTER TABLE ONLY public.authoring_items
    ADD CONSTRAINT one_item_a_source UNIQUE (collection, design, kind, source_id);
ALTER TABLE ONLY public.authoring_items
    ADD CONSTRAINT one_item_an_entry UNIQUE (made_by);
ALTER TABLE ONLY public.remarks
    ADD CONSTRAINT one_remark_a_nonce UNIQUE (nonce);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT one_slot_a_pair UNIQUE (collection, holder, query_id, doc_id, phase);
ALTER TABLE ONLY public.authoring_tasks
    ADD CONSTRAINT one_task UNIQUE (item_id, round, replicate);
ALTER TABLE ONLY public.authoring_tasks
    ADD CONSTRAINT one_task_a_person UNIQUE (item_id, round, holder);
ALTER TABLE ONLY public.quati_pool_revision
    ADD CONSTRAINT quati_pool_revision_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.question_events
    ADD CONSTRAINT question_events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (collection, query_id);
ALTER TABLE ONLY public.remarks
    ADD CONSTRAINT remarks_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.reveals
    ADD CONSTRAINT reveals_pkey PRIMARY KEY (collection, name, query_id, doc_id);
ALTER TABLE ONLY public.selections
    ADD CONSTRAINT selections_pkey PRIMARY KEY (design_id, query_id, doc_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_sha);
ALTER TABLE ONLY public.sign_in_failures
    ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (collection, subject);
ALTER TABLE ONLY public.training
    ADD CONSTRAINT training_pkey PRIMARY KEY (training_id);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT undone_once UNIQUE (undoes);
ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (version);
CREATE INDEX attempts_by_label ON public.attempts USING btree (label_seq);
CREATE INDEX entries_by_item ON public.authoring_entries USING btree (item_id, seq);
CREATE INDEX entries_by_person ON public.authoring_entries USING btree (collection, by, seq);
CREATE INDEX events_by_question ON public.question_events USING btree (collection, question_id);
CREATE INDEX items_by_parent ON public.authoring_items USING btree (parent_id);
CREATE INDEX labels_by_content ON public.labels USING btree (version, content_sha);
CREATE UNIQUE INDEX labels_by_nonce ON public.labels USING btree (nonce) WHERE (nonce IS NOT NULL);
CREATE INDEX labels_by_query ON public.labels USING btree (collection, labeler_id, version, query_id);
CREATE INDEX labels_of_audits ON public.labels USING btree (collection, labeler_id, version, query_id) WHERE ((phase = ANY (ARRAY['repeat'::text, 'probe'::text])) AND (kind = 'judge'::text));
CREATE INDEX remarks_by_pair ON public.remarks USING btree (collection, query_id, doc_id);
CREATE INDEX remarks_by_thread ON public.remarks USING btree (collection, thread);
CREATE INDEX sessions_by_name ON public.sessions USING btree (collection, name);
CREATE INDEX slots_by_label ON public.assignments USING btree (collection, holder, label_seq);
CREATE INDEX slots_by_lease ON public.assignments USING btree (collection, leased_until, holder) WHERE ((state = 'open'::text) AND (leased_until IS NOT NULL));
CREATE INDEX slots_by_query ON public.assignments USING btree (collection, query_id, state, holder, doc_id);
CREATE INDEX slots_in_line ON public.assignments USING btree (collection, holder, state, line, query_turn, skips, turn, query_id, design_id);
CREATE INDEX tasks_by_holder ON public.authoring_tasks USING btree (collection, holder, state);
CREATE INDEX tasks_in_line ON public.authoring_tasks USING btree (collection, round, state, skips, place, task_id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempt_of_a_label FOREIGN KEY (label_seq) REFERENCES public.labels(seq);
ALTER TABLE ONLY public.authoring_items
    ADD CONSTRAINT drafter_of_an_item FOREIGN KEY (drafted_by) REFERENCES public.versions(version);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT entry_of_a_task FOREIGN KEY (task_id) REFERENCES public.authoring_tasks(task_id);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT entry_of_an_item FOREIGN KEY (item_id) REFERENCES public.authoring_items(item_id);
ALTER TABLE ONLY public.frame_pairs
    ADD CONSTRAINT frame_of_a_design FOREIGN KEY (design_id) REFERENCES public.designs(design_id);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT label_of_a_slot FOREIGN KEY (label_seq) REFERENCES public.labels(seq);
ALTER TABLE ONLY public.authoring_items
    ADD CONSTRAINT parent_of_an_item FOREIGN KEY (parent_id) REFERENCES public.authoring_items(item_id);
ALTER TABLE ONLY public.batch_requests
    ADD CONSTRAINT request_of_a_batch FOREIGN KEY (batch_key) REFERENCES public.batches(key);
ALTER TABLE ONLY public.selections
    ADD CONSTRAINT selection_of_a_design FOREIGN KEY (design_id) REFERENCES public.designs(design_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT session_of_an_assessor FOREIGN KEY (collection, name) REFERENCES public.assessors(collection, name);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT shared_from_a_label FOREIGN KEY (shared_from) REFERENCES public.labels(seq);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT slot_of_a_design FOREIGN KEY (design_id) REFERENCES public.designs(design_id);
ALTER TABLE ONLY public.authoring_tasks
    ADD CONSTRAINT task_of_an_item FOREIGN KEY (item_id) REFERENCES public.authoring_items(item_id);
ALTER TABLE ONLY public.authoring_entries
    ADD CONSTRAINT undone_entry FOREIGN KEY (undoes) REFERENCES public.authoring_entries(seq);
