import { Button } from './button.tsx';
import { ErrorNote } from './states.tsx';

interface LoadMoreProps {
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly loadMore: () => void;
  readonly label: string;
}

/** A button for the next page of a list; nothing at its end. */
export const LoadMore = ({ hasMore, isBusy, error, loadMore, label }: LoadMoreProps) => (
  <>
    {error === null ? null : <ErrorNote error={error} />}
    {hasMore ? (
      <div class="load-more">
        <Button isBusy={isBusy} onPress={loadMore}>
          {label}
        </Button>
      </div>
    ) : null}
  </>
);
