import { gatewayError } from '../../../canonical/failure/failure.ts';
import { quoted } from '../../../kit/text/display.ts';
import { readListQuery } from '../../../openai/shared/list-page.ts';
import type { AgentPage } from '../store/port.ts';
import type { ListPage } from './service.ts';

/** The page that a client asks for. */
export const askedPage = (query: URLSearchParams): AgentPage => {
  const { limit, order, after } = readListQuery(query, 'desc');
  return { limit, order, after };
};

/** A list of rows, one more than was asked for if there are more. Throws if the cursor is unknown. */
export const listPage = <Row, Entry extends { readonly id: string }>(
  rows: readonly Row[] | null,
  { limit, after }: AgentPage,
  show: (row: Row) => Entry,
): ListPage<Entry> => {
  if (rows === null) {
    throw gatewayError('invalid_value', {
      param: 'after',
      message: `Invalid 'after': the list has no entry with id '${quoted(after ?? '')}'.`,
    });
  }
  const data = rows.slice(0, limit).map(show);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rows.length > limit,
  };
};
