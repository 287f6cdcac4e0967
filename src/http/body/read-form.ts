import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { FormEntry } from '../../openai/images/form.ts';
import { besideModule, createThreadPool, type GiveUpReason } from '../../threads/thread-pool.ts';
import { MAX_FORM_PARTS, type FormJob, type ParsedForm } from './parse-form.ts';
import { readBytes, type ReadLimits } from './read-bytes.ts';

export interface Forms {
  /** The parts of a form, or a failure. */
  read(request: Request, limits: ReadLimits): Promise<readonly FormEntry[]>;
  close(): Promise<void>;
}

/** One key has one of them: another key's form does not wait for it. */
const THREADS = 2;
/** Far more than a form takes that is as large as a body may be. */
const TIMEOUT_MS = 10_000;
/** The first one who comes waits until the thread is there. */
const WAIT_MS = 20_000;
const MAX_WAITING = 64;
/** More than anything fills in its time: see `maxMemoryMb`. */
const MAX_MEMORY_MB = 2_048;

export const isForm = (request: Request): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(typeOf(request));

/** Forms are parsed in a thread: how long that takes is up to whoever wrote them. */
export const createForms = (options: { readonly timeoutMs?: number } = {}): Forms => {
  const pool = createThreadPool<FormJob, ParsedForm>({
    file: besideModule(import.meta.url, 'form-thread'),
    threads: THREADS,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    waitMs: WAIT_MS,
    maxWaiting: MAX_WAITING,
    maxMemoryMb: MAX_MEMORY_MB,
  });
  return {
    async read(request, limits) {
      const bytes = await readBytes(request, limits);
      const outcome = await pool.run({ bytes, contentType: typeOf(request) }, limits.room?.caller ?? '');
      if (outcome.kind === 'given-up') throw givenUp(outcome.reason);
      const { result } = outcome;
      switch (result.kind) {
        case 'parsed':
          return result.entries;
        case 'unreadable':
          throw gatewayError('invalid_form');
        case 'too-many-parts':
          throw gatewayError('invalid_form', {
            message: `The form has too many parts: at most ${MAX_FORM_PARTS} are allowed.`,
          });
        default:
          return assertNever(result);
      }
    },
    close: () => pool.close(),
  };
};

const givenUp = (reason: GiveUpReason): GatewayError => {
  switch (reason) {
    case 'late':
      return gatewayError('invalid_form', {
        message: 'Parsing the form of the request takes too long.',
      });
    case 'crowded':
      return gatewayError('server_overloaded');
    case 'broken':
      return gatewayError('server_error');
    default:
      return assertNever(reason);
  }
};

const typeOf = (request: Request): string => request.headers.get('content-type') ?? '';
