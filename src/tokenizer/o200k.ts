import type { Tokenizer } from '../engine/tokenizer.ts';

/** The encoding of current OpenAI models. Its table takes time and memory, so it is loaded on first use. */
export const loadTokenizer = async (): Promise<Tokenizer> => {
  const { encode, decode } = await import('gpt-tokenizer/encoding/o200k_base');
  // Special tokens in a text are text: the model wrote them, nobody gave them a meaning.
  const tokensOf = (text: string): number[] => encode(text, { disallowedSpecial: new Set() });
  return {
    count: (text) => tokensOf(text).length,
    head: (text, tokens) => {
      const all = tokensOf(text);
      if (all.length <= tokens) return text;
      // A token may end inside a character; without that character the rest may need other tokens.
      for (let count = tokens; count > 0; count -= 1) {
        const head = commonStart(text, decode(all.slice(0, count)));
        if (tokensOf(head).length <= tokens) return head;
      }
      return '';
    },
  };
};

/** How far two texts agree, in whole characters. */
const commonStart = (a: string, b: string): string => {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  const isTorn = /[\uD800-\uDBFF]/.test(a.charAt(length - 1)) && /[\uDC00-\uDFFF]/.test(a.charAt(length));
  return a.slice(0, isTorn ? length - 1 : length);
};
