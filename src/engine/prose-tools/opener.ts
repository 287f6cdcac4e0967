import { FENCE_TICKS, MAX_FENCE_WORD } from './open-block.ts';
import { CLOSING, OPENING } from './written-call.ts';

/** How a text ended: as its author wanted, or cut off by a limit, a stop or a failure. */
export type TextEnd = 'finished' | 'cut-off';

/** What may become the beginning of a block, or of what is left of one. */
export interface Opener {
  readonly stage: 'ticks' | 'word' | 'space' | 'opening' | 'closing';
  readonly count: number;
  readonly hasFence: boolean;
}

/** Spaces between a fence and a block. */
const MAX_FENCE_SPACE = 64;
/** A tag that got this far cannot become anything else. */
const SURE_TAG_CHARS = '<tool_'.length;

/** The opener with one more character; null: it becomes nothing. Behind a block the tag may also be a closing one. */
export const nextOpener = (
  { stage, count, hasFence }: Opener,
  char: string,
  isBehindBlock: boolean,
): Opener | null => {
  const lower = char.toLowerCase();
  if (stage === 'opening' && lower === OPENING[count]) return { stage, count: count + 1, hasFence };
  if (stage === 'opening' && count === 1 && char === '/' && isBehindBlock) {
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

/** What a tag is that the text ended in: the rest of a finished block, half a block, or text (null). */
export const unfinishedTag = ({ stage, count }: Opener, how: TextEnd): 'cut' | 'half' | null => {
  if (stage !== 'opening' && stage !== 'closing') return null;
  if (how === 'finished' && count < SURE_TAG_CHARS) return null;
  return stage === 'opening' ? 'half' : 'cut';
};
