import { itemFacts } from '../../../canonical/request/item-facts.ts';
import type { Rejection } from '../../../canonical/failure/rejection.ts';
import { placeOf, type History } from '../../../codex/translate/fit-history.ts';
import { quoted } from '../../../kit/text/display.ts';

/** Items that are passed through unread and that the app-server keeps. It silently drops all others. */
const CODEX_KEEPS: ReadonlySet<string> = new Set(['web_search_call', 'image_generation_call']);

/** History items that the app-server would drop. */
export const refusedItems = (history: History): readonly Rejection[] => {
  if (!itemFacts(history.items).hasRaw) return [];
  return history.items.flatMap((item, index): readonly Rejection[] => {
    if (!('raw' in item) || CODEX_KEEPS.has(item.raw.type)) return [];
    const why = `is of type '${quoted(item.raw.type)}', which needs the relay of this server (PROXY_WIRE)`;
    return [{ path: { item: placeOf(history, index) ?? index }, kind: 'unsupported_value', why }];
  });
};
