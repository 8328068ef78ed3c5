/** What other nouns may ask of sittings. */
export { hasOpenSitting } from './store.ts';
