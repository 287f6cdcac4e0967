import { useEffect, useState } from 'preact/hooks';

const leftOf = (until: number): number => Math.max(0, Math.round(until - Date.now() / 1000));

/** The time until then as `14:05`. Seconds since 1970. Screen readers are not interrupted by it. */
export const Countdown = ({ until }: { readonly until: number }) => {
  const [left, setLeft] = useState(() => leftOf(until));
  useEffect(() => {
    setLeft(leftOf(until));
    const timer = setInterval(() => setLeft(leftOf(until)), 1000);
    return () => clearInterval(timer);
  }, [until]);
  const seconds = String(left % 60).padStart(2, '0');
  return (
    <span role="timer" aria-live="off">
      {Math.floor(left / 60)}:{seconds}
    </span>
  );
};
