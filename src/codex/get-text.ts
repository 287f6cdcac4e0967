import { request } from 'undici';

export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

export interface GetOptions {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

/** A small GET that adds no headers and limits the body size. */
export const getText = async (
  url: string,
  { headers, signal, maxBytes }: GetOptions,
): Promise<TextAnswer> => {
  const answer = await request(url, { headers, signal });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return { status: answer.statusCode, text: Buffer.concat(chunks, size).toString('utf8') };
};
