import { z } from 'zod';

import { longText, MAX_ID_CHARS } from '../../../apis/bounds.ts';
import { GatewayError } from '../../../canonical/failure/failure.ts';
import { FAMILY } from '../../../canonical/models/model-names.ts';
import { answerText } from '../../../canonical/request/item.ts';
import type { Core } from '../../../compose/feature.ts';
import type { OpenExchange } from '../../../http/exchange/exchange.ts';
import { traced } from '../../../http/exchange/trace-request.ts';
import { prepareTurn, readTurn, type TurnOrigin } from '../../../http/turn/start-turn.ts';
import { isJsonObject, textIn, type JsonObject } from '../../../kit/json/json.ts';
import { CLIENT_GONE } from '../../../observe/request-end.ts';
import { RESPONSES_PATH } from '../../../openai/responses/api.ts';
import type { Api } from '../../../turns/api.ts';
import { doorTool, type DoorTool, type ToolCallScope } from './tool.ts';

const REVIEWS_PATH = '/v1/codex/reviews';

const model = z.string().min(1).max(MAX_ID_CHARS).optional();

const askArguments = z.object({
  prompt: longText.describe('The question.'),
  model: model.describe('The model. Default: that of this server.'),
  effort: z
    .string()
    .min(1)
    .max(MAX_ID_CHARS)
    .optional()
    .describe('The reasoning effort, such as low, medium or high.'),
  instructions: longText.optional().describe('The system prompt.'),
});

const reviewArguments = z.object({
  input: longText.describe('A diff, or the text to review.'),
  instructions: longText.optional().describe('What to look for.'),
  model: model.describe('The model. Default: that of this server.'),
});

/** Tools that are one turn of an API of this server, without tools of their own. Nothing of them is stored. */
export const turnTools = (deps: Core): readonly DoorTool[] => [
  doorTool({
    name: 'ask',
    title: 'Ask the model',
    description: 'Answers a question with text. The model has no tools, and the answer is not stored.',
    args: askArguments,
    needs: 'prompt',
    isReadOnly: true,
    isFor: () => true,
    async run({ prompt, model: wanted = FAMILY, effort, instructions }, scope) {
      const body = {
        model: wanted,
        input: prompt,
        store: false,
        ...(effort === undefined ? {} : { reasoning: { effort } }),
        ...(instructions === undefined ? {} : { instructions }),
      };
      const { text, servedModel } = await runTurn(RESPONSES_PATH, body, scope, deps);
      return { text, structured: { content: text, model: servedModel ?? wanted } };
    },
  }),
  doorTool({
    name: 'review',
    title: 'Review a change',
    description: "Codex's reviewer: reads a diff and returns its findings.",
    args: reviewArguments,
    needs: 'input',
    isReadOnly: true,
    isFor: () => true,
    async run(args, scope) {
      const { body } = await runTurn(REVIEWS_PATH, args, scope, deps);
      const { findings, overall_correctness, overall_explanation, overall_confidence_score } = body;
      const structured = { findings, overall_correctness, overall_explanation, overall_confidence_score };
      return { text: textIn(body, 'review'), structured };
    },
  }),
];

interface TurnAnswer {
  /** As the API shows it. */
  readonly body: JsonObject;
  readonly text: string;
  /** The model that answered; null: the requested one. */
  readonly servedModel: string | null;
}

/** Runs a request of an API in a log entry of its own: limits, usage and the request log see it as one of that API. */
const runTurn = async (
  path: string,
  body: JsonObject,
  scope: ToolCallScope,
  deps: Core,
): Promise<TurnAnswer> => {
  const { signal, headers, exchange: outer } = scope;
  const exchanges = deps.exchanges();
  const exchange = exchanges.open({
    requestId: deps.ambient.ids.mint('req'),
    method: 'POST',
    route: path,
    headers,
    address: outer.address,
    isLocal: () => outer.isLocal(),
    clientSignal: signal,
  });
  const caller = outer.identity();
  if (caller !== null) exchange.admit(caller);
  const end = exchange.hold();
  try {
    const answer = await answerOf(apiAt(path, deps), body, exchange, headers, deps);
    exchange.note({ status: 200 });
    return answer;
  } catch (error) {
    if (signal.aborted) {
      exchange.note({ status: CLIENT_GONE });
      throw error;
    }
    const failed = exchanges.failed(exchange, error);
    exchange.note({ status: failed.status });
    throw new GatewayError(failed, { cause: error });
  } finally {
    end();
  }
};

const apiAt = (path: string, { apis }: Core): Api => {
  const api = apis.find((one) => one.path === path);
  if (api === undefined) throw new Error(`${path} is not served`);
  return api;
};

const answerOf = (
  api: Api,
  body: JsonObject,
  exchange: OpenExchange,
  headers: Headers,
  deps: Core,
): Promise<TurnAnswer> => {
  const turns = deps.turns();
  const asked = { exchange, method: 'POST', path: api.path, headers };
  return traced(asked, api, turns, async (trace) => {
    // The body of the HTTP request holds its bytes.
    const held = turns.bodies.open(exchange.caller(), exchange.signal, (error) => exchange.abort(error));
    const source: TurnOrigin = { headers, exchange, trace, transport: 'http', local: null, held };
    const read = await readTurn(api, () => Promise.resolve(body), source, turns);
    const run = await (await prepareTurn(api, read, source, turns)).start();
    const replies = await run.reply();
    for (const { outcome } of replies) if (outcome.kind === 'failed') throw new GatewayError(outcome.failure);
    const shown = api.project(run.meta, replies, deps.ambient.ids);
    trace.record('answered', { status: 200, head: {}, body: shown });
    return {
      body: isJsonObject(shown) ? shown : {},
      text: replies
        .flatMap(({ items }) => items.map(answerText))
        .filter((text) => text !== '')
        .join('\n\n'),
      servedModel: run.head.servedModel ?? null,
    };
  });
};
