import type { ServerResponse } from 'node:http';

export type Ending = 'a proper end' | 'FIN' | 'RST' | 'a length that is not kept';
export const ENDINGS: readonly Ending[] = ['a proper end', 'FIN', 'RST', 'a length that is not kept'];

/** Answers with these bytes, and ends the connection in this way. */
export const cutAnswer = (response: ServerResponse, bytes: Buffer, ending: Ending): void => {
  const head = { 'content-type': 'text/event-stream' };
  const { socket } = response;
  switch (ending) {
    case 'a proper end':
      response.writeHead(200, head);
      response.end(bytes);
      return;
    case 'FIN':
      // Without a length and chunks the end of the connection is the end of the answer.
      socket?.end(
        Buffer.concat([
          Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'),
          bytes,
        ]),
      );
      return;
    case 'RST':
      response.writeHead(200, head);
      response.flushHeaders();
      response.write(bytes, () => socket?.resetAndDestroy());
      if (bytes.length === 0) socket?.resetAndDestroy();
      return;
    case 'a length that is not kept':
      response.writeHead(200, { ...head, 'content-length': bytes.length + 10 });
      response.flushHeaders();
      response.write(bytes);
      socket?.end();
  }
};
