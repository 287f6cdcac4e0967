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
      // A token may end inside a character; what decodes to a replacement character is left out.
      const head = decode(all.slice(0, tokens));
      return text.startsWith(head) ? head : head.replace(/\uFFFD+$/u, '');
    },
  };
};
