/** Reads a stream to its first delta; the rest is read later. */
export const beginStream = async (answer: Response): Promise<{ readonly rest: Promise<string> }> => {
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('response.output_text.delta')) {
    const step = await reader.read();
    if (step.done) throw new Error(`the stream ended early: ${text}`);
    text += step.value;
  }
  const readOn = async (): Promise<string> => {
    for (;;) {
      const step = await reader.read();
      if (step.done) return text;
      text += step.value;
    }
  };
  return { rest: readOn() };
};
