import { MESSAGES_PARAMETERS } from '../../anthropic/messages/input/parameters.ts';
import { CHAT_PARAMETERS } from '../../openai/chat/parameters.ts';
import { COMPLETION_PARAMETERS } from '../../openai/completions/to-turn.ts';
import { IMAGE_EDIT_PARAMETERS, IMAGE_PARAMETERS } from '../../openai/images/to-turn.ts';
import { SHARED_SETTINGS } from '../../openai/shared/shared-settings.ts';
import { RESPONSES_PARAMETERS } from '../../openai/responses/input/parameters.ts';

const TABLES = [
  MESSAGES_PARAMETERS,
  RESPONSES_PARAMETERS,
  CHAT_PARAMETERS,
  COMPLETION_PARAMETERS,
  IMAGE_PARAMETERS,
  IMAGE_EDIT_PARAMETERS,
];

const KNOWN: ReadonlySet<string> = new Set([
  ...TABLES.flatMap((table) => Object.keys(table)),
  ...Object.values(SHARED_SETTINGS),
]);

/** Maps a path in a body (`input[3].content[0].detail`) to a metric label: the known parameter that contains it. */
export const paramLabel = (place: string): string => {
  if (KNOWN.has(place)) return place;
  const first = /^\w{1,64}/.exec(place)?.[0] ?? '';
  return KNOWN.has(first) ? first : 'other';
};
