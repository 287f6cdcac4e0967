import { STATUS_CODES } from 'node:http';

import { failure, type Failure } from '../../canonical/failure/failure.ts';

/** What Node's parser says about a request that it cannot read, as the client gets it. */
export const parserFailure = (code: string): Failure => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return failure('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return failure('request_too_large', { message: 'The chunk extensions of the request are too large.' });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return failure('request_timeout');
    default:
      return failure('malformed_request');
  }
};

/** An answer for a connection on which no request came to be. It ends with it. */
export const rawAnswer = async (response: Response): Promise<string> => {
  const body = await response.text();
  const headers = [...response.headers, ['content-length', String(Buffer.byteLength(body))]];
  return [
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n');
};
