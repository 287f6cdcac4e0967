import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

/**
 * Has the focus at first: not the button that closes the dialog, so that a second Enter does not lose a secret that is
 * shown only once.
 */
const FIRST_CONTROL = ':scope > :not(header) :is(input, select, textarea, button)';

/** A modal dialog: the browser keeps the focus in it, and Escape closes it. It is open while it is rendered. */
export const Dialog = ({ title, children, onClose }: DialogProps) => {
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>(FIRST_CONTROL)?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" label="Close" onPress={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      {children}
    </dialog>
  );
};

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The verb on the button: `Revoke`. */
  readonly action: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. */
export const ConfirmDialog = ({
  title,
  children,
  action,
  isBusy = false,
  onConfirm,
  onClose,
}: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    {children}
    <div class="actions">
      <Button onPress={onClose}>Cancel</Button>
      <Button kind="danger" isBusy={isBusy} onPress={onConfirm}>
        {action}
      </Button>
    </div>
  </Dialog>
);
