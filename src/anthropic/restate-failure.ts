import type { Failure } from '../canonical/failure/failure.ts';
import type { Restate } from '../canonical/failure/restate.ts';
import type { ModelName } from '../canonical/models/model-names.ts';
import { quoted } from '../kit/text/display.ts';

/** Rewrites the failures of a turn that clients recognise by Anthropic's words. */
export const restateFailure =
  ({ id, info }: Pick<ModelName, 'id' | 'info'>): Restate =>
  async (failed, count) => {
    if (failed.kind === 'model_not_found') return { ...failed, message: `model: ${quoted(id)}` };
    if (failed.kind !== 'context_length_exceeded') return failed;
    return { ...failed, message: await tooLong(failed, info.contextWindow, count) };
  };

/**
 * Says by how much a request is too long: Claude Code then compacts its conversation, or asks for a shorter answer. Without
 * numbers if they are unknown, or if a count does not confirm what the backend says.
 */
const tooLong = async (
  { message }: Failure,
  window: number | null,
  count: () => Promise<number | null>,
): Promise<string> => {
  const { input = null, output = null, limit = window } = numbersIn(message);
  if (input !== null && output !== null && limit !== null && input <= limit && input + output > limit) {
    return `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`;
  }
  const tokens = input ?? (limit === null ? null : await count());
  return tokens !== null && limit !== null && tokens > limit
    ? `prompt is too long: ${tokens} tokens > ${limit} maximum`
    : `prompt is too long: ${message}`;
};

interface Numbers {
  readonly input?: number;
  readonly output?: number;
  readonly limit?: number;
}

/** How OpenAI, servers that are compatible with it, and Google word this error. */
const WORDINGS: readonly RegExp[] = [
  /maximum context length is (?<limit>\d+) tokens.{0,100}\((?<input>\d+) (?:in|of) (?:the|your) \w+[,;] (?<output>\d+) (?:in|for) the completion/is,
  /passed (?<input>\d+) input tokens and requested (?<output>\d+) output tokens.{0,100}context length is only (?<limit>\d+)/is,
  /(?:maximum context length is|limit of) (?<limit>\d+) tokens.{0,100}resulted in (?<input>\d+) tokens/is,
  /token count \((?<input>\d+)\) exceeds the maximum number of tokens allowed \((?<limit>\d+)\)/i,
  /prompt is too long: (?<input>\d+) tokens > (?<limit>\d+) maximum/i,
];

const numbersIn = (message: string): Numbers => {
  for (const wording of WORDINGS) {
    const groups = wording.exec(message)?.groups;
    if (groups === undefined) continue;
    return Object.fromEntries(
      Object.entries(groups).flatMap(([name, digits]) =>
        digits === undefined ? [] : [[name, Number(digits)]],
      ),
    );
  }
  return {};
};
