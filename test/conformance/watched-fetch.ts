import { Agent, fetch as fetchWith } from 'undici';

/** One answer, as received. */
export interface Seen {
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly isStream: boolean;
  text: string;
}

/** A fetch that copies every answer. */
export const watchedFetch = () => {
  const seen: Seen[] = [];
  const dispatcher = new Agent();
  return {
    seen,
    /** Closes the connections: an idle one would keep a server from closing for a minute. */
    close: (): Promise<void> => dispatcher.destroy(),
    async fetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
      const options: object = { ...init, dispatcher };
      // A dispatcher works only with the fetch of its own package, not with that of Node.
      const { status, headers, body, url: reached } = await fetchWith(url as string, options);
      const one: Seen = {
        path: new URL(reached).pathname,
        status,
        headers: new Headers([...headers]),
        isStream: headers.get('content-type')?.startsWith('text/event-stream') ?? false,
        text: '',
      };
      seen.push(one);
      const head = { status, headers: one.headers };
      if (body === null) return new Response(null, head);
      const decoder = new TextDecoder();
      const copy = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          one.text += decoder.decode(chunk, { stream: true });
          controller.enqueue(chunk);
        },
      });
      return new Response(body.pipeThrough(copy), head);
    },
  };
};
