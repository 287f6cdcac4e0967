import type { ComponentChildren } from 'preact';

import { ApiError, messageOf } from '../api/api-error.ts';
import type { Resource } from '../api/use-resource.ts';
import { Button } from './button.tsx';

export const Loading = ({ what = 'Loading' }: { readonly what?: string }) => (
  <p class="state" role="status">
    <span class="spinner" aria-hidden="true" />
    {what}…
  </p>
);

/** Says that there is nothing, and what to do about it. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="state">{children}</div>
);

interface ErrorNoteProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** Shows an error of the API with its code and request id, which find it in the log. */
export const ErrorNote = ({ error, onRetry }: ErrorNoteProps) => {
  const facts = error instanceof ApiError ? [error.code, error.requestId].filter((one) => one !== null) : [];
  return (
    <div class="note note-bad" role="alert">
      <p>{messageOf(error)}</p>
      {facts.length === 0 ? null : <p class="hint">{facts.join(' · ')}</p>}
      {onRetry === undefined ? null : <Button onPress={onRetry}>Try again</Button>}
    </div>
  );
};

interface LoadedProps<T> {
  readonly of: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** The data of a resource once it is loaded, with an error above it if the last load failed. */
export const Loaded = <T,>({ of, children }: LoadedProps<T>) => (
  <>
    {of.error === null ? null : <ErrorNote error={of.error} onRetry={of.reload} />}
    {of.data === null ? of.error === null ? <Loading /> : null : children(of.data)}
  </>
);
