/**
 * A reader of server-sent events for tests. It shares no code with the product, so that it cannot compensate
 * for a bug in the product's writer.
 */
export interface SseFrame {
  /** Null if the frame names no event. */
  readonly event: string | null;
  readonly data: string;
}

export type SseSource = string | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/**
 * Frames as they arrive, without comments; a frame without its trailing blank line is lost, as the standard
 * requires.
 */
export async function* readSse(source: SseSource): AsyncGenerator<SseFrame> {
  let rest = '';
  let frame = emptyFrame();
  for await (const chunk of textOf(source)) {
    rest += chunk;
    // A "\r" at the end may be half of a "\r\n": wait for the next chunk.
    const lines = rest.split(/\r\n|\n|\r(?!$)/u);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') frame = withLine(frame, line);
      else {
        if (frame.data.length > 0) yield { event: frame.event, data: frame.data.join('\n') };
        frame = emptyFrame();
      }
    }
  }
  if (rest === '\r' && frame.data.length > 0) yield { event: frame.event, data: frame.data.join('\n') };
}

export const collectSse = async (response: Response): Promise<readonly SseFrame[]> => {
  const frames: SseFrame[] = [];
  if (response.body !== null) for await (const frame of readSse(response.body)) frames.push(frame);
  return frames;
};

/** The JSON of every frame but `[DONE]`. */
export const eventsOf = (frames: readonly SseFrame[]): readonly Record<string, unknown>[] =>
  frames
    .filter((frame) => frame.data !== '[DONE]')
    .map((frame): Record<string, unknown> => JSON.parse(frame.data));

interface OpenFrame {
  readonly event: string | null;
  readonly data: readonly string[];
}

const emptyFrame = (): OpenFrame => ({ event: null, data: [] });

const withLine = (frame: OpenFrame, line: string): OpenFrame => {
  const colon = line.indexOf(':');
  const field = colon === -1 ? line : line.slice(0, colon);
  const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /u, '');
  if (field === 'event') return { ...frame, event: value };
  return field === 'data' ? { ...frame, data: [...frame.data, value] } : frame;
};

async function* textOf(source: SseSource): AsyncGenerator<string> {
  if (typeof source === 'string') {
    yield source;
    return;
  }
  const decoder = new TextDecoder();
  for await (const chunk of source)
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
}
