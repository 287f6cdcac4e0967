import { gatewayError } from '../../canonical/failure/failure.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import { NO_TRACE } from '../../canonical/context/trace.ts';
import { countInput } from '../../engine/count-tokens.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Limiter, type LimiterRefusal } from '../../kit/async/limiter.ts';
import { translateBody, namesWithoutEffect, refusalOf } from '../../turns/translate.ts';
import { resolveAttachments } from '../../turns/attachments/attachments.ts';
import type { Api, InputCount } from '../../turns/api.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { referredCounter } from '../body/read-bytes.ts';
import { readJson } from '../body/read-json.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import { route, type Route } from '../route.ts';

/** Requests of a key that are counted at once: its turns need the tokenizer too. */
const AT_ONCE = 2;
const MAX_WAITING = 200;
const WAIT_MS = 30_000;

/**
 * Counts input tokens without running a model. The body is validated like that of its API. Uses no turn slot; the
 * requests of a key queue.
 */
export const countRoutes = (apis: readonly Api[], deps: TurnDeps, line: CountLine): readonly Route[] =>
  apis.flatMap(({ count, ...api }): readonly Route[] =>
    count === undefined
      ? []
      : [
          route(
            `POST ${count.path}`,
            { errors: api.errors },
            serveCount({ ...api, parse: (body, context) => count.parse(body, context) }, count, {
              ...deps,
              line,
            }),
          ),
        ],
  );

const serveCount =
  (
    api: Api,
    { project }: Pick<InputCount, 'project'>,
    { line, ...deps }: TurnDeps & { readonly line: CountLine },
  ): Route['handle'] =>
  async (http, exchange) => {
    const { signal } = exchange;
    const { engine, formats, images, rules, tokens: tokenizer } = deps.runs;
    const caller = exchange.caller();
    const held = deps.bodies.open(caller, signal, (error) => exchange.abort(error));
    exchange.atEnd(() => held.letGo());
    const limits = { maxBytes: deps.maxBodyBytes, room: held, signal };
    const body = await unlessAborted(readJson(http, limits), signal);
    const models = await unlessAborted(deps.models.names(), signal);
    const source = {
      headers: http.headers,
      caller,
      models,
      signal,
      trace: NO_TRACE,
      onBytes: referredCounter(limits),
      local: null,
      isOnlyRead: true,
    };
    const { parsed: ask, state } = await translateBody(api, body, source, deps);
    state.release();
    exchange.note({ model: ask.model, client: ask.client });
    const request = rules.strictParams ? { ...ask.request, isStrict: true as const } : ask.request;
    const plan = engine.plan(request, {
      caller: { keyId: caller },
      conversation: '',
      // No model is called.
      budget: new ModelBudget(0),
      trace: NO_TRACE,
    });
    const refused = refusalOf(ask, plan.refused, rules.strictParams);
    if (refused !== null) throw refused;
    await unlessAborted(formats.of(request.format, ask.formatPlace, caller), signal);
    const { items } = await resolveAttachments(request, images.fetch, {
      signal,
      nameOf: (path) => ask.nameOf(path),
      // Checked, but not fetched for a count.
      passesUrls: () => true,
    });
    const pass = await line.enter(caller, 1, signal);
    exchange.atEnd(() => pass.leave());
    const counting = { tokenizer, clock: deps.ambient.clock, caller, signal };
    const tokens = await countInput({ ...request, items }, counting);
    return jsonResponse(project(tokens), ignoredHeader(namesWithoutEffect(ask, plan.ignored)), signal);
  };

export interface CountLineOptions {
  readonly clock: Clock;
  readonly onRefused: (why: LimiterRefusal) => void;
}

/**
 * Queues the requests of each key. Keys do not wait for each other here: a count takes seconds, and the tokenizer serves
 * them in turns, piece by piece.
 */
export type CountLine = Pick<Limiter, 'enter'>;

export const createCountLine = ({ clock, onRefused }: CountLineOptions): CountLine => {
  const lines = new Map<string, Limiter>();
  const open = (key: string): Limiter => {
    const line = new Limiter({
      capacity: AT_ONCE,
      maxWaiting: MAX_WAITING,
      waitMs: WAIT_MS,
      clock,
      onChange({ inside, waiting }) {
        if (inside === 0 && waiting === 0) lines.delete(key);
      },
      refuse(why, retryAfterSeconds) {
        onRefused(why);
        return gatewayError(why === 'share' ? 'concurrency_limit' : 'server_overloaded', {
          retryAfterSeconds,
        });
      },
    });
    lines.set(key, line);
    return line;
  };
  return { enter: (key, size, signal) => (lines.get(key) ?? open(key)).enter(key, size, signal) };
};
