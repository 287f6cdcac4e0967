import type { ComponentChildren } from 'preact';

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: 'danger' | 'plain' | 'primary' | 'quiet';
  readonly type?: 'button' | 'submit';
  readonly isDisabled?: boolean;
  /** Shows that the action runs; the button cannot be pressed meanwhile. */
  readonly isBusy?: boolean;
  readonly onPress?: () => void;
  /** For a button whose content is only an icon. */
  readonly label?: string;
}

export const Button = (props: ButtonProps) => {
  const {
    children,
    kind = 'plain',
    type = 'button',
    isDisabled = false,
    isBusy = false,
    onPress,
    label,
  } = props;
  return (
    <button
      type={type}
      class={`button button-${kind}`}
      disabled={isDisabled || isBusy}
      aria-busy={isBusy}
      {...(label === undefined ? {} : { 'aria-label': label, title: label })}
      {...(onPress === undefined ? {} : { onClick: onPress })}
    >
      {children}
    </button>
  );
};
