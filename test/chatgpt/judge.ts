import type { IncomingHttpHeaders } from 'node:http';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import type { Dial, ModelRequest, RecordedRequest, Violation } from './recorded.ts';
import { textOf } from './rule.ts';
import type { FrameFacts, RefusedAnswer, Seen } from './rule.ts';
import { brokenRules, refusalOf, type Broken } from './rules.ts';
import type { Settings } from './settings.ts';
import type { TokenService } from './token-service.ts';

const LITE_HEADER = 'x-openai-internal-codex-responses-lite';
const LITE_METADATA = 'ws_request_header_x_openai_internal_codex_responses_lite';

export interface Judged {
  readonly request: ModelRequest;
  /** Null: the model answers. */
  readonly refusal: RefusedAnswer | null;
}

export interface FrameSeen extends Omit<FrameFacts, 'startMs'> {
  readonly dial: Dial;
  readonly path: string;
  readonly frame: JsonObject;
  /** The frame's input, after the history that it continues. */
  readonly body: JsonObject;
}

const START_MS = 'x-codex-ws-stream-request-start-ms';
/** What a POST says in headers, by their names. */
const IN_METADATA = { [LITE_HEADER]: LITE_METADATA, 'x-codex-turn-state': 'x-codex-turn-state' };

/** A frame as an equal POST: some headers are in its `client_metadata`. */
const asPost = (
  upgrade: IncomingHttpHeaders,
  body: JsonObject,
): {
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  readonly startMs: Json | undefined;
} => {
  if (!isJsonObject(body['client_metadata'])) return { headers: upgrade, body, startMs: undefined };
  const metadata = { ...body['client_metadata'] };
  const said = (name: string): string | undefined =>
    typeof metadata[name] === 'string' ? metadata[name] : undefined;
  const headers = {
    ...upgrade,
    'session-id': said('session_id'),
    'thread-id': said('thread_id'),
    'x-codex-turn-metadata': said('x-codex-turn-metadata'),
    ...Object.fromEntries(Object.entries(IN_METADATA).map(([header, name]) => [header, said(name)])),
  };
  const startMs = metadata[START_MS];
  for (const name of [START_MS, ...Object.values(IN_METADATA)]) delete metadata[name];
  return { headers, body: { ...body, client_metadata: metadata }, startMs };
};

/** Applies the rules to what arrives, and records it. */
export class Judge {
  readonly #settings: Settings;
  readonly #tokens: TokenService;
  readonly #modelRequests: ModelRequest[] = [];
  readonly #violations: Violation[] = [];
  readonly issued = new Map<string, string>();
  readonly turnStates = new Map<string, string>();

  constructor(settings: Settings, tokens: TokenService) {
    this.#settings = settings;
    this.#tokens = tokens;
  }

  get modelRequests(): readonly ModelRequest[] {
    return this.#modelRequests;
  }

  get violations(): readonly Violation[] {
    return this.#violations;
  }

  reset(): void {
    this.#modelRequests.length = 0;
    this.#violations.length = 0;
  }

  post(request: RecordedRequest, body: JsonObject): Judged {
    const { headers } = request;
    return this.#model(
      { ...request, body, transport: 'http', dial: null, frame: null },
      { carrier: 'post', headers },
    );
  }

  frame({ dial, path, frame, body: whole, ...facts }: FrameSeen): Judged {
    const { headers, body, startMs } = asPost(dial.headers, whole);
    return this.#model(
      { method: 'GET', path, headers, body, transport: 'websocket', dial, frame },
      { carrier: 'frame', headers, frame: { ...facts, startMs } },
    );
  }

  /** The answer instead of 101, and the broken rules. */
  upgrade(headers: IncomingHttpHeaders): {
    readonly refusal: RefusedAnswer | null;
    readonly broken: readonly string[];
  } {
    const request = { headers, body: {}, requestFormat: 'responses', transport: 'websocket' } as const;
    const broken = this.#broken({ ...request, carrier: 'upgrade' });
    this.#note(broken, request);
    return {
      refusal: this.#tokens.refusal(headers) ?? refusalOf(broken),
      broken: broken.map(({ rule }) => rule.id),
    };
  }

  #model(
    request: Omit<ModelRequest, 'requestFormat' | 'broken'>,
    seen: Pick<Seen, 'carrier' | 'headers' | 'frame'>,
  ): Judged {
    const requestFormat = request.headers[LITE_HEADER] === 'true' ? 'codex' : 'responses';
    const broken = this.#broken({ ...seen, body: request.body, requestFormat });
    const recorded = { ...request, requestFormat, broken: broken.map(({ rule }) => rule.id) } as const;
    this.#modelRequests.push(recorded);
    this.#note(broken, recorded);
    return { request: recorded, refusal: this.#tokens.refusal(request.headers) ?? refusalOf(broken) };
  }

  #broken(seen: Omit<Seen, 'model' | 'settings' | 'memory'>): readonly Broken[] {
    return brokenRules({
      ...seen,
      model: textOf(seen.body['model']),
      settings: this.#settings,
      memory: { issued: this.issued, turnStates: this.turnStates },
    });
  }

  #note(broken: readonly Broken[], request: Violation['request']): void {
    for (const { rule } of broken) {
      if (rule.onlyFoundByTrying !== true)
        this.#violations.push({ rule: rule.id, confidence: rule.confidence, request });
    }
  }
}
