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
    CONSTRAINT known_status CHECK ((status = ANY (ARRAY['ok'::text, 'unparsed'::text, 'off_scale'::text, 'refused'::text, 'truncated'::text, 'failed'::text, 'skipped'::text, 'unsure'::text, 'retracted'::text])))
);
CREATE SEQUENCE public.attempts_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.attempts_seq_seq OWNED BY public.attempts.seq;
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
    CONSTRAINT grade_if_and_only_if_ok CHECK (((status = 'ok'::text) = (relevance IS NOT NULL))),
    CONSTRAINT known_kind CHECK ((kind = ANY (ARRAY['judge'::text, 'assessor'::text]))),
    CONSTRAINT known_phase CHECK ((phase = ANY (ARRAY['training'::text, 'blind'::text, 'revealed'::text, 'final'::text]))),
    CONSTRAINT known_status CHECK ((status = ANY (ARRAY['ok'::text, 'unparsed'::text, 'off_scale'::text, 'refused'::text, 'truncated'::text, 'failed'::text, 'skipped'::text, 'unsure'::text, 'retracted'::text])))
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
CREATE TABLE public.versions (
    version text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    definition json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT known_kind CHECK ((kind = ANY (ARRAY['judge'::text, 'assessor'::text])))
);
ALTER TABLE ONLY public.attempts ALTER COLUMN seq SET DEFAULT nextval('public.attempts_seq_seq'::regclass);
ALTER TABLE ONLY public.labels ALTER COLUMN seq SET DEFAULT nextval('public.labels_seq_seq'::regclass);
INSERT INTO public.attempts VALUES (1, 1, 1, 'unparsed', 'NUL 0000, lone d800, ação', 'no grade found', 'stop', 'text', 'm-2024', 'http://localhost/v1', 'r1', 'f1', 120, 64, 31, 0, 0.0125, 0.75, 1, '{"logprobs": [-0.5, null]}', '2026-11-21 05:31:17.624253+00');
INSERT INTO public.attempts VALUES (2, 1, 2, 'ok', '{"Razão": "…", "Pontuação": 3}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, '{}', '2026-11-21 05:31:17.624253+00');
INSERT INTO public.attempts VALUES (3, 3, 1, 'failed', 'an answer about 7', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.5, 0, '{}', '2026-11-21 05:31:17.628783+00');
INSERT INTO public.attempts VALUES (4, 17, 1, 'ok', 'an answer about d0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.5, 0, '{}', '2026-11-21 05:31:17.64031+00');
INSERT INTO public.batch_requests VALUES ('k1', 'r1', 'q9', 'd1', 'x', 1, '{}', false);
INSERT INTO public.batch_requests VALUES ('k1', 'r0', 'q9', 'd0', 'x', 1, '{}', true);
INSERT INTO public.batches VALUES ('k1', 'pira', 'gpt', 'v1', '/v1/chat/completions', 'submitted', 'file-1', 'batch-1', 2, '{"window": "24h"}', '2026-11-21 05:31:17.634947+00');
INSERT INTO public.labels VALUES (1, 'pira', 'gpt', 'judge', 'v1', 'q1', 'd1', 'sha of d1', 'blind', 2, 3, 'ok', 'Responde à pergunta', NULL, NULL, '2026-11-21 05:31:17.624253+00', '{"expected_grade": 2.5}');
INSERT INTO public.labels VALUES (2, 'pira', 'gpt', 'judge', 'v1', 'q1', '007', 'sha of 007', 'blind', 1, 3, 'ok', NULL, 1, NULL, '2026-11-21 05:31:17.624253+00', '{}');
INSERT INTO public.labels VALUES (3, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, NULL, 'failed', NULL, NULL, NULL, '2026-11-21 05:31:17.628783+00', '{}');
INSERT INTO public.labels VALUES (4, 'pira', 'gpt', 'judge', 'v1', 'q2', 'ok', 'sha of ok', 'blind', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (5, 'pira', 'gpt', 'judge', 'v1', 'q2', 'unparsed', 'sha of unparsed', 'blind', 1, NULL, 'unparsed', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (6, 'pira', 'gpt', 'judge', 'v1', 'q2', 'off_scale', 'sha of off_scale', 'blind', 1, NULL, 'off_scale', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (7, 'pira', 'gpt', 'judge', 'v1', 'q2', 'refused', 'sha of refused', 'blind', 1, NULL, 'refused', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (8, 'pira', 'gpt', 'judge', 'v1', 'q2', 'truncated', 'sha of truncated', 'blind', 1, NULL, 'truncated', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (9, 'pira', 'gpt', 'judge', 'v1', 'q2', 'failed', 'sha of failed', 'blind', 1, NULL, 'failed', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (10, 'pira', 'gpt', 'judge', 'v1', 'q2', 'skipped', 'sha of skipped', 'blind', 1, NULL, 'skipped', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (11, 'pira', 'gpt', 'judge', 'v1', 'q2', 'unsure', 'sha of unsure', 'blind', 1, NULL, 'unsure', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (12, 'pira', 'gpt', 'judge', 'v1', 'q2', 'retracted', 'sha of retracted', 'blind', 1, NULL, 'retracted', NULL, NULL, NULL, '2026-11-21 05:31:17.630204+00', '{}');
INSERT INTO public.labels VALUES (13, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, 0, 'ok', NULL, NULL, NULL, '2026-11-21 05:31:17.632019+00', '{}');
INSERT INTO public.labels VALUES (14, 'pira', 'gpt', 'judge', 'v1', 'q2', '7', 'sha of 7', 'blind', 1, NULL, 'truncated', NULL, NULL, NULL, '2026-11-21 05:31:17.632019+00', '{}');
INSERT INTO public.labels VALUES (15, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd1', 'sha of d1', 'final', 1, 2, 'ok', NULL, NULL, 4, '2026-11-21 05:31:17.633142+00', '{}');
INSERT INTO public.labels VALUES (16, 'pira', 'ana', 'assessor', 'guide-1', 'q1', 'd1', 'sha of d1', 'training', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-21 05:31:17.634041+00', '{}');
INSERT INTO public.labels VALUES (17, 'pira', 'gpt', 'judge', 'v1', 'q9', 'd0', 'sha of d0', 'blind', 1, 2, 'ok', NULL, NULL, NULL, '2026-11-21 05:31:17.64031+00', '{}');
INSERT INTO public.quati_pool_revision VALUES ('0001');
INSERT INTO public.versions VALUES ('v1', 'judge', '{"model": "m-2024", "prompt": {"system": "Julgue a passagem\u2026", "grades": [0, 1, 2, 3]}}', '2026-11-21 05:31:17.616199+00');
INSERT INTO public.versions VALUES ('guide-1', 'assessor', '{"guidelines": "first"}', '2026-11-21 05:31:17.622216+00');
SELECT pg_catalog.setval('public.attempts_seq_seq', 4, true);
SELECT pg_catalog.setval('public.labels_seq_seq', 17, true);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.batch_requests
    ADD CONSTRAINT batch_requests_pkey PRIMARY KEY (batch_key, custom_id);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.quati_pool_revision
    ADD CONSTRAINT quati_pool_revision_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (version);
CREATE INDEX attempts_by_label ON public.attempts USING btree (label_seq);
CREATE INDEX labels_by_content ON public.labels USING btree (version, content_sha);
CREATE INDEX labels_by_query ON public.labels USING btree (collection, labeler_id, version, query_id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempt_of_a_label FOREIGN KEY (label_seq) REFERENCES public.labels(seq);
ALTER TABLE ONLY public.batch_requests
    ADD CONSTRAINT request_of_a_batch FOREIGN KEY (batch_key) REFERENCES public.batches(key);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT shared_from_a_label FOREIGN KEY (shared_from) REFERENCES public.labels(seq);
