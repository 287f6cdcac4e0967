import { useEffect, useState } from 'preact/hooks';

/** A page of a list of the API. */
export interface List<Row> {
  readonly data: readonly Row[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

interface More<Row> {
  /** The rows of all pages that were loaded. */
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly loadMore: () => void;
}

/** Adds further pages to a list. They are dropped when the first page is another one. */
export const usePages = <Row>(
  first: List<Row>,
  load: (after: string | null) => Promise<List<Row>>,
): More<Row> => {
  const [added, setAdded] = useState<readonly List<Row>[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => setAdded([]), [first]);
  const last = added.at(-1) ?? first;
  const next = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      const page = await load(last.last_id);
      setAdded((before) => [...before, page]);
    } catch (reason) {
      setError(reason);
    }
    setIsBusy(false);
  };
  return {
    rows: [first, ...added].flatMap(({ data }) => data),
    hasMore: last.has_more,
    isBusy,
    error,
    loadMore: () => void next(),
  };
};
