/** What other nouns may ask of results. */
export { findLive, findLearnerAssessments, findStored, findWithdrawn, replaceLearnerJson } from './store.ts';
