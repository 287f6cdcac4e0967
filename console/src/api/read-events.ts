/** An event of a response's stream. */
export interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The server sends far less without an event in between. */
const MAX_BUFFER_CHARS = 64 * 1024 * 1024;

/** The events of a stream of server-sent events. Comments, which keep the connection alive, are skipped. */
export async function* readEvents<Event = StreamEvent>(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Event, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      if (text.length > MAX_BUFFER_CHARS) throw new Error('An event of the stream is too large.');
      for (const block of blocks) {
        const data = dataOf(block);
        if (data !== '' && data !== '[DONE]') yield JSON.parse(data) as Event;
      }
    }
  } finally {
    // After an early end, too: the server then stops the turn.
    await reader.cancel().catch(() => undefined);
  }
}

const dataOf = (block: string): string =>
  block
    .split('\n')
    .flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length).trimStart()] : []))
    .join('\n');
