/** The name of our backend in `config.toml`; also the name that is said with each thread. */
export const PROVIDER_ID = 'proxy';
