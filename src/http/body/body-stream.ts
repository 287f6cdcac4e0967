import { Transform, type Readable } from 'node:stream';

import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { takeIncoming } from './incoming-body.ts';
import { checkLength, counterOf } from './read-bytes.ts';

/**
 * The body as the client sent it, read only as fast as the stream's reader takes it; null if the request has none. Fails
 * if the body is larger than allowed, or if the client disconnects.
 */
export const bodyStream = (
  request: Request,
  { maxBytes, onChunk }: { readonly maxBytes: number; readonly onChunk: () => void },
): Readable | null => {
  const incoming = takeIncoming(request);
  if (incoming === undefined || !hasBody(request)) return null;
  checkLength(request, maxBytes);
  const count = counterOf({ maxBytes });
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        count(chunk.length);
        onChunk();
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  // Its reader reports errors, if it has one yet.
  counted.on('error', () => {});
  const cut = (cause?: Error): void => {
    counted.destroy(new GatewayError(failure('malformed_request', { message: CUT }), { cause }));
  };
  incoming.once('error', cut);
  incoming.once('close', () => {
    if (!incoming.readableEnded) cut();
  });
  // Not a pipeline: the connection still has to carry the error.
  return incoming.pipe(counted);
};

const CUT = 'The request body could not be read completely.';

/** Without either header, HTTP/1.1 has no body. */
const hasBody = ({ headers }: Request): boolean =>
  headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0';
