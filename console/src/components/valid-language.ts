/**
 * Gives the browser a language that `Intl` accepts, if it has none: Chromium in the locale C reports `en-US@posix`, and the
 * library of the charts throws at it while it loads.
 */
const isValid = (language: string): boolean => {
  try {
    return Intl.getCanonicalLocales(language).length > 0;
  } catch {
    return false;
  }
};

if (!isValid(navigator.language))
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
