import { CHOICE_PARAMETERS } from '../chat/parameters.ts';
import type { ParameterTable } from '../../apis/parameters.ts';
import type { CreateCompletion } from './schema.ts';

/** How each field of a completion request is handled. */
export const COMPLETION_PARAMETERS: ParameterTable<CreateCompletion> = {
  ...CHOICE_PARAMETERS,
  prompt: {
    asks: ['items'],
    note: 'A text, a list of tokens (of the encoding that OpenAI gives the requested model: `cl100k_base` for `gpt-3.5-turbo-instruct`, `davinci-002` and `gpt-4`, `o200k_base` for current and unknown names), or up to 128 of either: each becomes the user message of a separate turn. The choices of the first prompt come first; `n` times the number of prompts is at most 128.',
  },
  max_tokens: {
    asks: ['maxOutputTokens'],
    note: 'As `max_completion_tokens` in chat. Without it there is no limit. With 0 no model is called: the answer is empty, or the prompt with `echo`, and `usage` counts the prompt.',
  },
  suffix: { policy: 'rejected', note: 'Chat models do not fill in the middle of a text.' },
  echo: { policy: 'emulated', note: 'The answer begins with the prompt.' },
  best_of: { policy: 'rejected', note: 'Answers are not weighed against each other.' },
  logprobs: { policy: 'rejected', note: 'Log probabilities are given in chat only.' },
};
