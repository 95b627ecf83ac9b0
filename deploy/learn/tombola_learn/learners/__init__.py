"""Ready learners.  Each proposes payloads as a function of the history, and holds the model that the answers make.

A learner never sees a reading.  What it is given besides, edges, scales, first centroids, has to be public.
"""
from .anomaly import Anomaly
from .bayes import NaiveBayes
from .kmeans import KMeans
from .linear import Logistic, Network, Ridge
from .measures import accuracy, auc, macro_f1
from .tree import Forest, Tree

__all__ = ["Anomaly", "Forest", "KMeans", "Logistic", "NaiveBayes", "Network", "Ridge", "Tree", "accuracy", "auc", "macro_f1"]
