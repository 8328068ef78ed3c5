/** What other nouns may ask of results. */
export {
  findLive,
  findLiveWithin,
  findLearnerAssessments,
  findStored,
  findWithdrawn,
  forgetReasons,
  forgetReasonsBefore,
  replaceLearnerJson,
} from './store.ts';
