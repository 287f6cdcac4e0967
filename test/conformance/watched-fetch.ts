import { Agent } from 'undici';

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
      const response = await fetch(url, options);
      const one: Seen = {
        path: new URL(response.url).pathname,
        status: response.status,
        headers: response.headers,
        isStream: response.headers.get('content-type')?.startsWith('text/event-stream') ?? false,
        text: '',
      };
      seen.push(one);
      if (response.body === null) return response;
      const decoder = new TextDecoder();
      const copy = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          one.text += decoder.decode(chunk, { stream: true });
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(copy), response);
    },
  };
};
