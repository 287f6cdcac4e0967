import { answerText } from '../../canonical/request/item.ts';
import type { TurnObserver } from '../../observe/observer.ts';
import type { FormatCheck } from './check-format.ts';

/** Reports answers that violate their format. The check runs after the answer and delays nothing. */
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
