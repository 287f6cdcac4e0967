import { STATUS_CODES } from 'node:http';

import { failure, type Failure } from '../../canonical/failure/failure.ts';

/** Maps an error code of Node's parser to a failure. */
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

/** A raw answer for a connection without a parsed request. It closes the connection. */
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
