import { isJsonObject, objectsIn, type JsonObject } from '../../kit/json/json.ts';
import { ok, problem, skipped, warning, type Finding, type Check } from './finding.ts';
import { shownTime } from '../../kit/text/display.ts';

/** An answer of the server in this process. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
  readonly ms: number;
}

/** Alias of the default model. */
const MODEL = 'codex-5';

interface TurnOptions {
  /** Low effort costs less; null for backends that may not support efforts. */
  readonly effort: 'low' | null;
}

const askBody = ({ effort }: TurnOptions, fields: JsonObject): JsonObject => ({
  model: MODEL,
  ...(effort === null ? {} : { reasoning: { effort } }),
  ...fields,
});

export const tinyTurn = (options: TurnOptions): JsonObject =>
  askBody(options, { input: 'Answer with the word ok.' });

const TOOL = 'say_ok';

export const forcedTurn = (options: TurnOptions): JsonObject =>
  askBody(options, {
    input: 'Hello.',
    tools: [
      {
        type: 'function',
        name: TOOL,
        description: 'Says ok.',
        parameters: {
          type: 'object',
          properties: { ok: { type: 'boolean' } },
          required: ['ok'],
          additionalProperties: false,
        },
        strict: true,
      },
    ],
    tool_choice: { type: 'function', name: TOOL },
  });

/** Backends cache prompts from about 1,024 tokens on. */
const LINES = 120;

/** The nonce makes the conversation new to every cache. */
export const cacheTurns = (options: TurnOptions, nonce: string): readonly [JsonObject, JsonObject] => {
  const lines = Array.from({ length: LINES }, (_, index) => `Line ${index}: the fox jumps over the dog.`);
  const first = {
    role: 'user',
    content: `Note ${nonce}.\n${lines.join('\n')}\nAnswer with the word ok.`,
  };
  const second = [
    first,
    { role: 'assistant', content: 'ok' },
    { role: 'user', content: 'Answer with ok again.' },
  ];
  return [askBody(options, { input: [first] }), askBody(options, { input: second })];
};

/** Pure. Did the model answer? */
export const judgeTurn = (answer: Answer, signIn: string | null): Finding => {
  const failed = answerFailure(answer, signIn);
  if (failed !== null) return failed;
  const { model, input, output } = figuresOf(answer);
  const text = outputOf(answer).find((item) => item['type'] === 'message');
  if (text === undefined) return problem(`${model} answered without text`, 'run doctor again');
  const says = `${model} answered in ${(answer.ms / 1000).toFixed(1)} s (${input} tokens in, ${output} out)`;
  const facts = { model, ms: answer.ms, inputTokens: input, outputTokens: output };
  const ignored = answer.headers.get('x-proxy-ignored-params');
  return ok(ignored === null ? says : `${says}; without effect: ${ignored}`, facts);
};

/** Pure. The backend accepted the request and sent nothing: further requests would also time out. */
export const isSilentAnswer = ({ facts }: Finding): boolean => facts['code'] === 'upstream_timeout';

const UNFORCEABLE = 'clients that force a tool will not work with this model: try another one';

/** Pure. Was the required tool called? */
export const judgeForced = (answer: Answer, signIn: string | null): Finding => {
  const failed = answerFailure(answer, signIn);
  if (failed !== null) return failed;
  const call = outputOf(answer).find((item) => item['type'] === 'function_call');
  if (call?.['name'] === TOOL) return ok('the model calls the required tool');
  return problem('a forced tool choice has no effect', UNFORCEABLE);
};

/** Pure. Was the second turn a hit in the prompt cache? */
export const judgeCache = (answer: Answer, signIn: string | null): Finding => {
  const failed = answerFailure(answer, signIn);
  if (failed !== null) return failed;
  const { input, cached } = figuresOf(answer);
  const says = `${cached} of ${input} tokens of a second turn came from the cache`;
  const facts = { inputTokens: input, cachedTokens: cached };
  return cached > 0
    ? ok(says, facts)
    : warning(
        says,
        'an occasional miss is normal: run doctor again; without the cache long conversations cost more',
        facts,
      );
};

const WINDOWS = ['primary', 'secondary'] as const;
const NEARLY_USED = 90;

/** Pure. The account's limits from the headers of the last answer. */
export const judgeLimits = (headers: Headers): Finding => {
  const windows = WINDOWS.flatMap((name) => {
    const number = (what: string): number => Number(headers.get(`x-codex-${name}-${what}`) ?? Number.NaN);
    const used = number('used-percent');
    if (Number.isNaN(used)) return [];
    const resetAt = new Date(number('reset-at') * 1000);
    return [{ used, minutes: number('window-minutes'), resetAt }];
  });
  if (windows.length === 0) return skipped('the backend reports no limits');
  const says = windows.map(
    ({ used, minutes, resetAt }) =>
      `${lengthOf(minutes)}: ${used} % used${Number.isNaN(resetAt.getTime()) ? '' : ` until ${shownTime(resetAt)}`}`,
  );
  const facts = { usedPercent: windows.map(({ used }) => used) };
  return windows.some(({ used }) => used >= NEARLY_USED)
    ? warning(says.join('; '), 'requests fail with insufficient_quota when it is used up', facts)
    : ok(says.join('; '), facts);
};

const lengthOf = (minutes: number): string => {
  if (Number.isNaN(minutes)) return 'limit';
  const days = minutes / 1_440;
  return days >= 1 ? `${Math.round(days)} d` : `${Math.round(minutes / 60)} h`;
};

const outputOf = ({ body }: Answer): readonly JsonObject[] => objectsIn(body, 'output');

const figuresOf = ({ body }: Answer) => {
  const usage = objectIn(body, 'usage');
  const count = (object: JsonObject, key: string): number => Number(object[key] ?? 0);
  return {
    model: typeof body['model'] === 'string' ? body['model'] : MODEL,
    input: count(usage, 'input_tokens'),
    output: count(usage, 'output_tokens'),
    cached: count(objectIn(usage, 'input_tokens_details'), 'cached_tokens'),
  };
};

const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};

/** The error of an answer with advice; null if it succeeded. */
export const answerFailure = ({ status, body }: Answer, signIn: string | null): Finding | null => {
  const error = objectIn(body, 'error');
  if (status < 400 && body['status'] !== 'failed') return null;
  const code = typeof error['code'] === 'string' ? error['code'] : 'no code';
  const message = typeof error['message'] === 'string' ? error['message'] : 'no reason was given';
  return problem(`${code} (${status}): ${message}`, adviceFor(code, signIn), { code, status });
};

/** `signIn` says how to sign in; null for a provider, where it would not help. */
const adviceFor = (code: string, signIn: string | null): string => {
  switch (code) {
    case 'sign_in_required':
    case 'upstream_unauthorized':
      return signIn === null ? 'check PROXY_UPSTREAM_API_KEY' : signIn;
    case 'upstream_blocked':
      return 'try PROXY_WIRE=off, another network, or later';
    case 'upstream_unreachable':
      return signIn === null
        ? 'check the network, PROXY_UPSTREAM_BASE_URL, HTTPS_PROXY'
        : 'check the network, HTTPS_PROXY, SSL_CERT_FILE';
    case 'upstream_timeout':
      return signIn === null
        ? 'check that the provider at PROXY_UPSTREAM_BASE_URL runs and has a model loaded'
        : 'check the network and HTTPS_PROXY; the backend may have a problem: try again later';
    case 'upstream_error':
      return signIn === null
        ? 'check PROXY_UPSTREAM_BASE_URL (most end in /v1); the provider may have a problem'
        : 'the backend may have a problem: try again later';
    case 'insufficient_quota':
    case 'usage_limit_reached':
      return 'wait until the limit resets, or use another account';
    case 'tool_choice_not_satisfied':
      return UNFORCEABLE;
    case 'codex_incompatible':
      return 'update this server, or name another codex with PROXY_CODEX_BINARY: docs/operating.md, "Codex versions"';
    case 'model_not_found':
      return 'this account or provider does not have the model: see GET /v1/models';
    default:
      return 'see docs/errors.md and docs/operating.md';
  }
};

type TransportChoice = 'auto' | 'websocket' | 'http';

/** A streamed turn over one transport. */
export interface StreamedTurn {
  readonly answer: Answer;
  /** Until its first output; null: it had none. */
  readonly firstMs: number | null;
}

/** What a transport achieved. */
interface MeasuredTransport {
  /** Null: the turn failed. */
  readonly firstMs: number | null;
  readonly finding: Finding;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 1_000 ? 2 : 1)} s`;

const NAMES = { websocket: 'WebSocket', http: 'POST' } as const;

/** Pure. What a turn over this transport says about it. `signIn` says how to sign in. */
export const judgeTransport = (
  transport: 'websocket' | 'http',
  { answer, firstMs }: StreamedTurn,
  signIn: string | null,
): MeasuredTransport => {
  const failed = answerFailure(answer, signIn);
  if (failed === null && firstMs !== null) {
    const dial = transport === 'websocket' ? ' (the upgrade was answered with 101)' : '';
    const finding = ok(`first output after ${seconds(firstMs)}${dial}`, { firstOutputMs: firstMs });
    return { firstMs, finding };
  }
  const said = failed?.says ?? 'the answer had no output';
  const outcome = /\(WS_([\w-]+)\)/.exec(said)?.[1] ?? null;
  // Any other failure is that of the request, which the lines above report.
  const finding =
    outcome === null
      ? warning(said, failed?.advice ?? 'run doctor again')
      : warning(`the upgrade was answered with ${outcome}`, REFUSED, { upgrade: outcome });
  return { firstMs: null, finding };
};

const REFUSED =
  'requests are posted instead, which is only slower; if it stays so, set PROXY_CHATGPT_TRANSPORT=http';

/** How much faster a transport has to be to be called so: two single turns differ by chance. */
const CLEARLY = 0.8;
const NOTICEABLE_MS = 50;

/** Pure. Which transport is faster for this account; null: one of them failed. */
export const compareTransports = (
  websocketMs: number | null,
  httpMs: number | null,
  configured: TransportChoice,
): Finding | null => {
  if (websocketMs === null || httpMs === null) return null;
  const isSocketFaster = websocketMs <= httpMs;
  const [faster, slower] = isSocketFaster ? [websocketMs, httpMs] : [httpMs, websocketMs];
  const name = NAMES[isSocketFaster ? 'websocket' : 'http'];
  const facts = { websocketMs, httpMs, faster: isSocketFaster ? 'websocket' : 'http' };
  if (faster > slower * CLEARLY || slower - faster < NOTICEABLE_MS)
    return ok(`equally fast: WebSocket ${seconds(websocketMs)}, POST ${seconds(httpMs)}`, facts);
  const says = `${name} is faster for this account: ${seconds(faster)} instead of ${seconds(slower)}`;
  if (isSocketFaster && configured === 'http')
    return warning(says, 'remove PROXY_CHATGPT_TRANSPORT=http', facts);
  if (!isSocketFaster && configured !== 'http')
    return warning(says, 'if this is so every time, set PROXY_CHATGPT_TRANSPORT=http', facts);
  return ok(says, facts);
};

interface TransportCheckOptions {
  readonly configured: TransportChoice;
  readonly signIn: string | null;
  readonly limitMs: number;
  /** Runs a turn over a transport, with a connection that is already open. */
  readonly turn: (transport: 'websocket' | 'http', signal: AbortSignal) => Promise<StreamedTurn>;
}

/** Measures both transports with a turn each, and compares them. */
export const checkTransports = async (
  ask: (check: Check) => Promise<unknown>,
  { configured, signIn, limitMs, turn }: TransportCheckOptions,
): Promise<void> => {
  const measured: { websocket: number | null; http: number | null } = { websocket: null, http: null };
  for (const transport of ['websocket', 'http'] as const) {
    await ask({
      name: NAMES[transport],
      limitMs,
      run: async (signal) => {
        const { firstMs, finding } = judgeTransport(transport, await turn(transport, signal), signIn);
        measured[transport] = firstMs;
        return finding;
      },
    });
  }
  const finding = compareTransports(measured.websocket, measured.http, configured);
  if (finding !== null) await ask({ name: 'transport', limitMs: 1_000, run: () => finding });
};
