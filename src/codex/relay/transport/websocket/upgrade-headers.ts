import type { Headers } from '../../../end-to-end-headers.ts';

/** The version of the protocol that codex speaks. */
const BETA = 'responses_websockets=2026-02-06';

const LITE_HEADER = 'x-openai-internal-codex-responses-lite';
export const TURN_STATE_HEADER = 'x-codex-turn-state';

/** A socket serves several turns, also of other models, and may be opened before any: each frame says this for its turn. */
const OF_A_TURN: ReadonlySet<string> = new Set([LITE_HEADER, TURN_STATE_HEADER, 'x-codex-turn-metadata']);

/** Headers of a POST that codex does not send with an upgrade. */
const POST_ONLY = /^(?:accept|accept-encoding|content-.*|cookie|sec-websocket-.*)$/;

/** The headers of an upgrade: those of a POST, without what describes its body and its turn. */
export const upgradeHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    POST_ONLY.test(name) || OF_A_TURN.has(name) ? [] : [[name, [value].flat().join(', ')]],
  );
  return { ...Object.fromEntries(kept), 'openai-beta': BETA };
};

/** What a frame says in its `client_metadata` because a socket has no headers for each request. */
export const frameMetadata = (headers: Headers, nowMs: number): Readonly<Record<string, string>> => {
  const lite = headers[LITE_HEADER];
  const turnState = headers[TURN_STATE_HEADER];
  return {
    ...(lite === undefined ? {} : { ws_request_header_x_openai_internal_codex_responses_lite: String(lite) }),
    ...(turnState === undefined ? {} : { [TURN_STATE_HEADER]: String(turnState) }),
    'x-codex-ws-stream-request-start-ms': String(nowMs),
  };
};
