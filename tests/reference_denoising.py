"""EPLL patch by patch, in plain numpy: slow, short, as the paper has it."""

import numpy as np


def denoise(noisy, sigma, weights, covariances, betas):
    side = round(covariances.shape[1] ** 0.5)
    height, width = noisy.shape
    image = noisy.copy()
    for beta in betas:
        total, covered = np.zeros(noisy.shape), np.zeros(noisy.shape)
        for top in range(height - side + 1):
            for left in range(width - side + 1):
                place = np.s_[top : top + side, left : left + side]
                patch = restored(image[place].ravel(), weights, covariances, sigma**2 / beta)
                total[place] += patch.reshape(side, side)
                covered[place] += 1
        data_weight, patch_weight = side**2 / sigma**2, beta / sigma**2 * side**2
        image = data_weight * noisy + patch_weight * (total / covered)
        image /= data_weight + patch_weight
    return np.clip(image, 0.0, 1.0)


def restored(patch, weights, covariances, variance):
    """The Wiener estimate of one patch, less its mean, under its most probable component."""
    n_pixels, mean = len(patch), patch.mean()
    centring = np.eye(n_pixels) - 1.0 / n_pixels
    covariances = [centring @ covariance @ centring for covariance in covariances]
    noise = variance * np.eye(n_pixels)
    scores = [
        np.log(weight) + log_density(patch - mean, covariance + noise)
        for weight, covariance in zip(weights, covariances, strict=True)
    ]
    best = covariances[int(np.argmax(scores))]
    return mean + best @ np.linalg.solve(best + noise, patch - mean)


def log_density(patch, covariance):
    """log N(patch | 0, covariance), but for its constant."""
    square = patch @ np.linalg.solve(covariance, patch)
    return -0.5 * (np.linalg.slogdet(covariance)[1] + square)
