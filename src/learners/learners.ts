/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export {
  findLearner,
  findLearnersByIds,
  findLearnersByRefs,
  insertLearners,
  nameInstants,
  recordRename,
  updateLearner,
  updateLearnerRef,
} from './store.ts';
