interface ErrorFacts {
  readonly status?: number;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string | null;
}

/** A request that failed, as OpenAI's error body describes it. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message);
    this.status = facts.status ?? 0;
    this.code = facts.code ?? null;
    this.param = facts.param ?? null;
    this.requestId = facts.requestId ?? null;
  }
}

const MAX_SHOWN_CHARS = 300;

/** The error of an answer. A body that is not OpenAI's error is quoted. */
export const toApiError = async (response: Response): Promise<ApiError> => {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const requestId = headers.get('x-request-id');
  try {
    const { error } = JSON.parse(text) as {
      readonly error: {
        readonly message: string;
        readonly code?: string | null;
        readonly param?: string | null;
      };
    };
    const { message, code = null, param = null } = error;
    return new ApiError(message, { status, code, param, requestId });
  } catch {
    const shown = text.slice(0, MAX_SHOWN_CHARS) || response.statusText;
    return new ApiError(`The server answered with status ${status}: ${shown}`, { status, requestId });
  }
};

/** What to show for anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
