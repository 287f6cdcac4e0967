import { FENCE_TICKS, MAX_FENCE_WORD } from './open-block.ts';
import { CLOSING, OPENING } from './written-call.ts';

/** Whether the model finished the text, or a limit, a stop or a failure cut it off. */
export type TextEnd = 'finished' | 'cut-off';

/** Text that may become the opening of a block, with a fence before it, or a second closing tag. */
export interface Opener {
  readonly stage: 'ticks' | 'word' | 'space' | 'opening' | 'closing';
  readonly count: number;
  readonly hasFence: boolean;
}

const MAX_FENCE_SPACE = 64;
/** A closing tag of this length cannot become anything else. */
const SURE_TAG_CHARS = '</tool'.length;

/** The opener with one more character; null: it is text. After a block the tag may also be a closing one. */
export const nextOpener = (
  { stage, count, hasFence }: Opener,
  char: string,
  isAfterBlock: boolean,
): Opener | null => {
  const lower = char.toLowerCase();
  if (stage === 'opening' && lower === OPENING[count]) return { stage, count: count + 1, hasFence };
  if (stage === 'opening' && count === 1 && char === '/' && isAfterBlock) {
    return { stage: 'closing', count: 2, hasFence: false };
  }
  if (stage === 'closing' && lower === CLOSING[count]) return { stage, count: count + 1, hasFence };
  if (stage === 'opening' || stage === 'closing') return null;
  if (stage === 'ticks' && count < FENCE_TICKS) {
    return char === '`' ? { stage, count: count + 1, hasFence } : null;
  }
  if (char === '<') return { stage: 'opening', count: 1, hasFence: true };
  const sofar = (other: Opener['stage']): number => (stage === other ? count : 0);
  if (char.trim() === '') {
    return sofar('space') < MAX_FENCE_SPACE
      ? { stage: 'space', count: sofar('space') + 1, hasFence: true }
      : null;
  }
  const isWord = stage !== 'space' && /^[\w-]$/.test(char) && sofar('word') < MAX_FENCE_WORD;
  return isWord ? { stage: 'word', count: sofar('word') + 1, hasFence: true } : null;
};

/** What an unfinished tag at the end of the text is: the rest of a finished block, half a block, or text (null). */
export const unfinishedTag = ({ stage, count }: Opener, how: TextEnd): 'cut' | 'half' | null => {
  if (stage === 'opening') return how === 'cut-off' ? 'half' : null;
  const isSure = how === 'cut-off' || count >= SURE_TAG_CHARS;
  return stage === 'closing' && isSure ? 'cut' : null;
};
