import type { Item } from '../../canonical/request/item.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import { quoted } from '../../kit/text/quote.ts';

/** Items that are passed through unread and that the app-server keeps. It silently drops all others. */
const CODEX_KEEPS: ReadonlySet<string> = new Set(['web_search_call', 'image_generation_call']);

/** History items that cannot reach the backend. A relay restores what the app-server drops. */
export const refusedItems = (
  { items, places }: { readonly items: readonly Item[]; readonly places: readonly (number | null)[] },
  hasRelay: boolean,
): readonly Rejection[] =>
  hasRelay
    ? []
    : items.flatMap((item, index): readonly Rejection[] => {
        if (!('raw' in item) || CODEX_KEEPS.has(item.raw.type)) return [];
        const why = `is of type '${quoted(item.raw.type)}', which needs the relay of this server (PROXY_WIRE)`;
        return [{ path: { item: places[index] ?? index }, kind: 'unsupported_value', why }];
      });
