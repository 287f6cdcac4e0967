import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../../apis/bounds.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';

const content = z.union([longText, list(MAX_PARTS)]);
const textBlock = z.object({ type: z.literal('text'), text: longText });

/** The parts of a content: a text, or a list of blocks. Empty texts are left out. */
export const readParts = (value: unknown, at: string): readonly Part[] => {
  const parsed = parseBody(content, value, at);
  if (typeof parsed === 'string') return textParts(parsed);
  return parsed.flatMap((block, index) => {
    const place = `${at}[${index}]`;
    const { object } = readTagged(block, 'type', ['text'], place);
    return textParts(parseBody(textBlock, object, place).text);
  });
};

const textParts = (text: string): readonly Part[] => (text === '' ? [] : [{ kind: 'text', text }]);
