/** What other nouns may ask of sittings. */
export {
  countOpenSittings,
  emptySittingOfResult,
  emptySittingsOfLearners,
  findBegun,
  hasOpenSitting,
  voidSittingsOfLearner,
} from './store.ts';
