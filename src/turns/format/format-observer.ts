import { answerText } from '../../canonical/request/item.ts';
import type { TurnObserver } from '../../observe/observer.ts';
import type { FormatCheck } from './check-format.ts';

/** Nothing is done about an answer that breaks its format except that it does not go unseen; nobody waits for it. */
export const formatObserver = (
  keepsFormat: FormatCheck | null,
  onMismatch: () => void,
): readonly TurnObserver[] => {
  if (keepsFormat === null) return [];
  let text = '';
  return [
    {
      onEvent(event) {
        if (event.type === 'item-ended') text += answerText(event.item);
        if (event.type !== 'turn-ended' || event.outcome.kind !== 'completed') return;
        void keepsFormat(text).then((kept) => kept === false && onMismatch());
      },
    },
  ];
};
