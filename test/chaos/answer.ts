import { assertNever } from '../../src/kit/assert-never.ts';
import { eventsOf, type SseFrame } from '../support/sse.ts';
import { isNeverWhole, NONCE, rightCalls, rightText, type Plan } from './plan.ts';

/** What a client received, in the same form for both APIs and for streams. */
export interface Answer {
  readonly text: string;
  readonly calls: readonly string[];
  /** `open`: it did not end. */
  readonly end: 'completed' | 'failed' | 'incomplete' | 'open';
  readonly code: string | null;
}

export type Verdict =
  | { readonly kind: 'whole' }
  | { readonly kind: 'told'; readonly code: string }
  | { readonly kind: 'left' }
  | { readonly kind: 'wrong'; readonly why: string };

export const wrong = (why: string): Verdict => ({ kind: 'wrong', why });

type Body = Readonly<Record<string, unknown>>;
interface Output {
  readonly type: string;
  readonly arguments?: string;
  readonly content?: readonly { readonly text?: string }[];
}
interface Call {
  readonly index?: number;
  readonly function: { readonly arguments: string };
}
interface Choice {
  readonly finish_reason: string | null;
  readonly message?: { readonly content: string | null; readonly tool_calls?: readonly Call[] };
  readonly delta?: { readonly content?: string | null; readonly tool_calls?: readonly Call[] };
}

const codeOf = (body: Body): string | null => {
  const error = body['error'] as { readonly code?: unknown; readonly message?: unknown } | null | undefined;
  return typeof error?.message === 'string' && typeof error.code === 'string' ? error.code : null;
};

const ofResponse = (body: Body): Answer => {
  const output = body['output'] as readonly Output[];
  const status = body['status'];
  return {
    text: output
      .flatMap(({ content }) => content ?? [])
      .map(({ text }) => text ?? '')
      .join(''),
    calls: output.flatMap((item) => (item.type === 'function_call' ? [item.arguments ?? ''] : [])),
    end: status === 'completed' || status === 'failed' || status === 'incomplete' ? status : 'open',
    code: codeOf(body),
  };
};

const endOfChoice = (reason: string | null | undefined): Answer['end'] => {
  if (reason === undefined || reason === null) return 'open';
  return reason === 'stop' || reason === 'tool_calls' ? 'completed' : 'incomplete';
};

/** Reads the answer to a request without `stream`. */
export const ofWhole = (api: Plan['api'], body: Body): Answer => {
  if (codeOf(body) !== null && body['output'] === undefined)
    return { text: '', calls: [], end: 'failed', code: codeOf(body) };
  if (api === 'responses') return ofResponse(body);
  const choice = (body['choices'] as readonly Choice[])[0];
  return {
    text: choice?.message?.content ?? '',
    calls: (choice?.message?.tool_calls ?? []).map((call) => call.function.arguments),
    end: endOfChoice(choice?.finish_reason),
    code: null,
  };
};

const ofResponseStream = (frames: readonly SseFrame[]): Answer => {
  const events = eventsOf(frames);
  const text = events
    .flatMap((event) => (event['type'] === 'response.output_text.delta' ? [event['delta']] : []))
    .join('');
  const last = events.at(-1)?.['response'];
  const open: Answer = { text, calls: [], end: 'open', code: null };
  if (last === undefined || frames.at(-1)?.data !== '[DONE]') return open;
  const answer = ofResponse(last as Body);
  // The response object has only OpenAI's few codes; the event before it names the cause.
  const code = events.map(codeOf).find((one) => one !== null) ?? null;
  // The streamed text and the final text must be equal.
  return answer.end === 'completed' && answer.text !== text ? open : { ...answer, text, code };
};

const ofChatStream = (frames: readonly SseFrame[]): Answer => {
  const events = eventsOf(frames);
  const choices = events.flatMap((event) => (event['choices'] as readonly Choice[] | undefined) ?? []);
  const calls: string[] = [];
  for (const call of choices.flatMap(({ delta }) => delta?.tool_calls ?? []))
    calls[call.index ?? 0] = (calls[call.index ?? 0] ?? '') + call.function.arguments;
  const code = events.map(codeOf).find((one) => one !== null) ?? null;
  const end = endOfChoice(choices.findLast(({ finish_reason: reason }) => reason !== null)?.finish_reason);
  const isOver = frames.at(-1)?.data === '[DONE]';
  return {
    text: choices.map(({ delta }) => delta?.content ?? '').join(''),
    calls,
    end: code !== null && isOver ? 'failed' : isOver ? end : 'open',
    code,
  };
};

export const ofStream = (api: Plan['api'], frames: readonly SseFrame[]): Answer =>
  api === 'responses' ? ofResponseStream(frames) : ofChatStream(frames);

/** Whether this is an acceptable answer to the request. */
export const judge = (plan: Plan, answer: Answer, raw: string): Verdict => {
  const strange = (raw.match(NONCE) ?? []).find((nonce) => nonce !== plan.nonce);
  if (strange !== undefined) return wrong(`mixed with ${strange}`);
  const text = plan.tools === 'called' ? '' : rightText(plan);
  switch (answer.end) {
    case 'completed': {
      const isWhole =
        answer.text === text && JSON.stringify(answer.calls) === JSON.stringify(rightCalls(plan));
      if (!isWhole) return wrong(`called completed, and is not: ${JSON.stringify(answer).slice(-300)}`);
      return isNeverWhole(plan) ? wrong('called completed, and the model never ended it') : { kind: 'whole' };
    }
    case 'failed':
      if (answer.code === null) return wrong('failed without a code');
      if (answer.code === 'server_error') return wrong(`something unexpected: ${raw.slice(-300)}`);
      return text.startsWith(answer.text)
        ? { kind: 'told', code: answer.code }
        : wrong(`another text: ${answer.text.slice(-100)}`);
    case 'incomplete':
      return wrong('incomplete without a limit in the request');
    case 'open':
      return wrong(`no end: ${raw.slice(-300)}`);
    default:
      return assertNever(answer.end);
  }
};
